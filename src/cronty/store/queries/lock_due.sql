-- Hold an owner's jobs still, in an order that all share. $1 owner, $2 jobs.
select d.job_id from cronty.due d
where d.job_id = any($2::bigint[]) and d.owner_id = (select id from cronty.owners where name = $1)
order by d.job_id
for update
