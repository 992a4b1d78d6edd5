-- Cancel what waits, ask the workers to stop what runs. $1 now, $2 and $3 which runs, $4 why.
with target as (
  select r.job_id, r.scheduled_for, r.state, r.worker
  from unnest($2::bigint[], $3::timestamptz[]) u(job_id, slot)
  join cronty.runs r on r.job_id = u.job_id and r.scheduled_for = u.slot
  where r.state in ('waiting', 'running')
  for update of r
), unqueued as (
  delete from cronty.queue q using target t
  where t.state = 'waiting' and q.job_id = t.job_id and q.scheduled_for = t.scheduled_for
), cancelled as (
  update cronty.runs r
  set state = 'cancelled', reason = $4, finished_at = coalesce($1::timestamptz, statement_timestamp())
  from target t
  where t.state = 'waiting' and r.job_id = t.job_id and r.scheduled_for = t.scheduled_for
), counted as (
  update cronty.jobs j set cancelled_count = j.cancelled_count + t.runs
  from (select job_id, count(*) as runs from target where state = 'waiting' group by job_id) t
  where j.id = t.job_id
), asked as (
  insert into cronty.stop_requests (worker, job_id, scheduled_for)
  select worker, job_id, scheduled_for from target where state = 'running'
  on conflict do nothing
)
select count(pg_notify('cronty', 'stop ' || w.worker)) from (select distinct worker from target where worker is not null) w
