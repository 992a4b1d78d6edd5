-- Lock the due rows of these jobs, in a fixed order against deadlocks.
select job_id from cronty.due where job_id = any($1::bigint[]) order by job_id for update
