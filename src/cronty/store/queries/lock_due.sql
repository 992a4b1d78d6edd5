-- Lock the due rows of an owner's jobs, in a fixed order against deadlocks. $1 owner, $2 their numbers.
select d.job_id from cronty.jobs j
join cronty.due d on d.job_id = j.id
where j.owner_id = (select id from cronty.owners where name = $1) and j.number = any($2::bigint[])
order by d.job_id
for update of d
