-- Settle all other outcomes: failures, retries, snoozes; a row must still have this attempt and worker. A run that was to be
-- stopped gets no other attempt.
-- $7 seconds until the next attempt, null if there is none. $10 the attempt's outcome, if another will follow. $14 and $15 the first and the last slot, as
-- in settle_done.
with given as (
  select * from unnest(
    $3::bigint[], $4::timestamptz[], $5::int[], $6::text[], $7::float8[], $8::text[], $9::text[], $10::text[], $11::float8[], $12::float8[], $13::text[])
    u(job_id, slot, attempt, state, wait, error, reason, outcome, ended_ago, took, traceback)
  where u.slot between $14 and $15
), clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), settled as (
  update cronty.runs r
  set state = case when g.state = 'waiting' and (j.state = 'cancelled' or s.reason is not null) then 'cancelled'
      else g.state end::cronty.run_state,
    worker = null, error = g.error, traceback = g.traceback,
    reason = case when g.state = 'waiting' and j.state = 'cancelled' then 'the job was cancelled'
      when g.state = 'waiting' and s.reason is not null then s.reason else g.reason end,
    failures = r.failures + case when g.outcome = 'failed' or g.state = 'failed' then 1 else 0 end,
    started_at = c.now - (g.ended_ago + g.took) * interval '1 second',
    finished_at = case when g.state <> 'waiting' or j.state = 'cancelled' or s.reason is not null
      then c.now - g.ended_ago * interval '1 second' end
  from given g
  join cronty.jobs j on j.id = g.job_id
  left join cronty.stop_requests s on s.worker = $2 and s.job_id = g.job_id and s.scheduled_for = g.slot, clock c
  where r.job_id = g.job_id and r.scheduled_for = g.slot and r.attempt = g.attempt and r.worker = $2
    and r.scheduled_for between $14 and $15
  returning r.job_id, r.scheduled_for, r.attempt, r.owner_id, r.state, r.crashes, r.started_at, g.wait, g.error, g.outcome, c.now
), waiting as (
  insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, crashes, task)
  select s.job_id, s.scheduled_for, s.now + s.wait * interval '1 second', s.owner_id, s.crashes, j.task
  from settled s join cronty.jobs j on j.id = s.job_id
  where s.state = 'waiting'
), noted as (
  insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, worker, started_at, ended_at, outcome, error)
  select job_id, scheduled_for, attempt, owner_id, $2, started_at, now, outcome, error from settled where state = 'waiting'
  on conflict (job_id, scheduled_for, attempt) do update -- left from before a restore
    set worker = excluded.worker, started_at = excluded.started_at, ended_at = excluded.ended_at, outcome = excluded.outcome,
      error = excluded.error
), failing as (
  update cronty.jobs j
  set failure_count = j.failure_count + f.failures, failures_in_row = j.failures_in_row + f.failures,
    cancelled_count = j.cancelled_count + f.cancelled, last_error = coalesce(f.error, j.last_error)
  from (
    select job_id, count(*) filter (where state = 'failed') as failures, count(*) filter (where state = 'cancelled') as cancelled,
      min(error) filter (where state = 'failed') as error
    from settled where state in ('failed', 'cancelled')
    group by job_id
  ) f
  where j.id = f.job_id
  returning j.id, j.owner_id, j.name, j.policy::text, j.state::text as state_before,
    j.failures_in_row - f.failures as failures_before, null as error_before, j.state::text, j.failures_in_row, j.last_error,
    j.reason, f.failures > 0 as failed
)
select (select count(*) from settled) as accepted, f.*
from (select) one left join failing f on f.failed
