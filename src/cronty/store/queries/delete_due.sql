-- Delete the due rows of these jobs, which are locked: they don't fire any more.
delete from cronty.due d using unnest($1::bigint[]) u(job_id) where d.job_id = u.job_id
