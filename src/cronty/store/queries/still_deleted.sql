-- Which of these jobs, whose due rows are locked, were deleted before $2.
select j.id
from unnest($1::bigint[]) u(job_id)
cross join lateral (select id from cronty.jobs where id = u.job_id and deleted_at <= $2 limit 1) j
