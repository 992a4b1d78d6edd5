-- Hold these jobs still, in an order that all share.
select job_id from cronty.due where job_id = any($1::bigint[]) order by job_id for update
