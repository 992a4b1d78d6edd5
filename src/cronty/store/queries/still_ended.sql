-- Which of these jobs, whose due rows are locked, have ended before $2 and have no history left. A separate statement,
-- because only its snapshot shows what was committed before the lock.
select j.id
from unnest($1::bigint[]) u(job_id)
cross join lateral (
  select id, state from cronty.jobs
  where id = u.job_id and deleted_at is null and state in ('active', 'cancelled') and updated_at < $2
  limit 1
) j
cross join lateral (
  select job_id from cronty.due
  where job_id = u.job_id and next_at is null and (held_slot is null or j.state = 'cancelled')
  limit 1
) d
where not exists (select from cronty.runs r where r.job_id = u.job_id)
  and not exists (select from cronty.queue q where q.job_id = u.job_id)
  and not exists (select from cronty.attempts a where a.job_id = u.job_id)
