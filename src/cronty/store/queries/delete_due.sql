-- Take these jobs, whose due rows are locked, out of time: nothing of them fires any more.
delete from cronty.due d using unnest($1::bigint[]) u(job_id) where d.job_id = u.job_id
