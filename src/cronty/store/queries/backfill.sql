-- Have slots of a job run, whose due row is locked. $1 job, $2 slots, in order, $3 who asked and when (JSON), $4 now, $5 seconds
-- between two of them. Slots without a row get one outside of the chain. What had not run counts as a run that was asked for, not against
-- max_runs; what had is tried again, and its last attempt moves to `attempts`.
with asked as (
  select u.slot, u.place from unnest($2::timestamptz[]) with ordinality u(slot, place)
), there as materialized (
  select r.*
  from asked a
  cross join lateral (
    select scheduled_for, owner_id, state, attempt, started_at, finished_at, error, reason
    from cronty.runs where job_id = $1 and scheduled_for = a.slot
    limit 1
  ) r
), noted as (
  insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, started_at, ended_at, outcome, error)
  select $1, scheduled_for, attempt, owner_id, started_at, finished_at,
    case state when 'done' then 'done' when 'failed' then 'failed' when 'cancelled' then 'interrupted' else 'lost' end,
    coalesce(error, reason)
  from there
  where attempt > 0
  on conflict do nothing
), again as (
  update cronty.runs r
  set state = 'waiting', finished_at = null, error = null, reason = null, result = null, traceback = null, failures = 0, crashes = 0,
    backfilled = $3::jsonb || jsonb_build_object('was', t.state, 'because', coalesce(t.error, t.reason))
  from there t
  where r.job_id = $1 and r.scheduled_for = t.scheduled_for
), made as (
  insert into cronty.runs (job_id, scheduled_for, owner_id, state, manual, backfilled)
  select $1, a.slot, d.owner_id, 'waiting', true, $3::jsonb
  from asked a
  cross join cronty.due d
  where d.job_id = $1 and not exists (select from there t where t.scheduled_for = a.slot)
), queued as (
  insert into cronty.queue (job_id, scheduled_for, owner_id, task, due_at)
  select $1, a.slot, d.owner_id, j.task, case when not d.serial then $4::timestamptz + (a.place - 1) * $5::float8 * interval '1 second' end
  from asked a
  cross join cronty.due d
  cross join cronty.jobs j
  where d.job_id = $1 and j.id = $1
), counted as (
  update cronty.due d
  set run_count = d.run_count + n.fresh, manual_count = d.manual_count + n.fresh
  from (
    select (select count(*) from asked) - count(*) filter (where state in ('done', 'failed', 'quarantined', 'cancelled')) as fresh
    from there
  ) n
  where d.job_id = $1
), uncounted as (
  update cronty.jobs j
  set failure_count = greatest(0, j.failure_count - n.failed), cancelled_count = greatest(0, j.cancelled_count - n.cancelled)
  from (
    select count(*) filter (where state in ('failed', 'quarantined')) as failed,
      count(*) filter (where state = 'cancelled') as cancelled
    from there
  ) n
  where j.id = $1 and n.failed + n.cancelled > 0
)
select pg_notify('cronty', 'queue')
