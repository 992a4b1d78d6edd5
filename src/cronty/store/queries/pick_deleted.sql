-- Lock jobs that were deleted before $1, the longest ago first, at most $2. A job that is held is left to the next look.
select d.job_id
from (select id from cronty.jobs where deleted_at <= $1 order by deleted_at, id limit $2) j
cross join lateral (select job_id from cronty.due where job_id = j.id limit 1 for update skip locked) d
