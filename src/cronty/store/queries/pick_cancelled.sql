-- Lock jobs that were cancelled before $1, the longest ago first. $2 and $3 when and the job after which to go on, $4 how
-- many. A job that is held is left to the next look.
select d.job_id, j.updated_at as ended_at
from (
  select id, updated_at from cronty.jobs
  where state = 'cancelled' and deleted_at is null and updated_at < $1 and (updated_at, id) > ($2::timestamptz, $3::bigint)
  order by updated_at, id
  limit $4
) j
cross join lateral (select job_id from cronty.due where job_id = j.id limit 1 for update skip locked) d
order by j.updated_at, d.job_id
