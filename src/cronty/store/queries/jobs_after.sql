-- The id of the last of the next $2 jobs after $1, and how many there are.
select max(job_id) as last, count(*) as jobs from (select job_id from cronty.due where job_id > $1 order by job_id limit $2) d
