-- A job that ended without its last slot being run has failed, and says why.
update cronty.jobs set failures_in_row = failures_in_row + 1, last_error = u.error
from unnest($1::bigint[], $2::text[]) u(job_id, error)
where id = u.job_id
