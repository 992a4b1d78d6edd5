-- Queue the runs of dead workers again; a run that keeps crashing its worker is quarantined, and one that was to be stopped
-- is cancelled.
-- $1 now, $2 how many crashes are too many, $3 the workers. The cost depends on the running runs, not on history.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), asked as (
  delete from cronty.stop_requests s where s.worker = any($3::bigint[]) returning s.job_id, s.scheduled_for, s.reason
), lost as (
  update cronty.runs r
  set worker = null, crashes = r.crashes + 1,
    state = case when e.why is not null or r.scheduled_for = any(a.slots) then 'cancelled'
      when r.crashes + 1 >= $2 then 'quarantined' else 'waiting' end::cronty.run_state,
    finished_at = case when e.why is not null or r.scheduled_for = any(a.slots) or r.crashes + 1 >= $2 then c.now end,
    reason = case when e.why is not null then e.why when r.scheduled_for = any(a.slots) then a.why
      when r.crashes + 1 >= $2 then 'its worker died ' || $2 || ' times while performing it' end
  from clock c, cronty.jobs j
  cross join lateral (
    select case when erasing_since is not null then 'the owner is being erased'
      when j.state = 'cancelled' then 'the job was cancelled' end as why
    from cronty.owners where id = j.owner_id
    limit 1
  ) e
  left join (select job_id, array_agg(scheduled_for) as slots, min(reason) as why from asked group by job_id) a
    on a.job_id = j.id
  where r.state = 'running' and j.id = r.job_id and r.worker = any($3::bigint[])
  returning r.job_id, r.scheduled_for, r.attempt, r.owner_id, r.state, r.crashes, r.started_at, r.reason, c.now
), waiting as (
  insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, crashes, task)
  select l.job_id, l.scheduled_for, l.now, l.owner_id, l.crashes, j.task
  from lost l join cronty.jobs j on j.id = l.job_id
  where l.state = 'waiting'
), noted as (
  insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, started_at, ended_at, outcome, error)
  select job_id, scheduled_for, attempt, owner_id, started_at, now, 'lost', 'its worker''s lease passed' from lost
  on conflict (job_id, scheduled_for, attempt) do update -- left from before a restore
    set worker = excluded.worker, started_at = excluded.started_at, ended_at = excluded.ended_at, outcome = excluded.outcome,
      error = excluded.error
), failing as (
  update cronty.jobs j
  set failure_count = j.failure_count + l.quarantined, failures_in_row = j.failures_in_row + l.quarantined,
    cancelled_count = j.cancelled_count + l.cancelled, last_error = coalesce(l.reason, j.last_error)
  from (
    select job_id, count(*) filter (where state = 'quarantined') as quarantined,
      count(*) filter (where state = 'cancelled') as cancelled, min(reason) filter (where state = 'quarantined') as reason
    from lost where state <> 'waiting'
    group by job_id
  ) l
  where j.id = l.job_id
  returning j.id, j.owner_id, j.name, j.policy::text, j.state::text as state_before,
    j.failures_in_row - l.quarantined as failures_before, null as error_before, j.state::text, j.failures_in_row, j.last_error,
    j.reason, l.quarantined > 0 as failed
)
select (select count(*) from lost where state = 'waiting') as rescued,
  (select count(*) from lost where state = 'quarantined') as quarantined, f.*
from (select) one left join failing f on f.failed
