-- Cancel waiting runs, and request a stop of running ones; returns 0 if there were none. $1 now, $2 and $3 which runs, $4 why.
-- The queue is locked before the runs, in the same order as a claim: a row deleted from it is waiting, and ours.
with unqueued as (
  delete from cronty.queue q
  using unnest($2::bigint[], $3::timestamptz[]) u(job_id, slot)
  where q.job_id = u.job_id and q.scheduled_for = u.slot
  returning q.job_id, q.scheduled_for
), running as (
  select r.job_id, r.scheduled_for, r.worker, r.owner_id
  from unnest($2::bigint[], $3::timestamptz[]) u(job_id, slot)
  join cronty.runs r on r.job_id = u.job_id and r.scheduled_for = u.slot
  where (select count(*) from unqueued) >= 0 and r.state = 'running'
  for update of r
), cancelled as (
  update cronty.runs r
  set state = 'cancelled', reason = $4, finished_at = coalesce($1::timestamptz, statement_timestamp())
  from unqueued w
  where r.job_id = w.job_id and r.scheduled_for = w.scheduled_for
), counted as (
  update cronty.jobs j set cancelled_count = j.cancelled_count + w.runs
  from (select job_id, count(*) as runs from unqueued group by job_id) w
  where j.id = w.job_id
), asked as (
  insert into cronty.stop_requests (worker, job_id, scheduled_for, owner_id, reason)
  select worker, job_id, scheduled_for, owner_id, $4 from running
  on conflict do nothing
)
select (select count(*) from unqueued) + count(pg_notify('cronty', 'stop ' || w.worker))
from (select distinct worker from running) w
