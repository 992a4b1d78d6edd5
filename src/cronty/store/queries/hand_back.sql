-- Queue runs again that are listed as a worker's but unknown to it: the answer to its claim was lost. Those that were to be
-- stopped are cancelled. $1 now, $2 worker.
with back as (
  update cronty.runs r
  set state = case when s.reason is null then 'waiting' else 'cancelled' end::cronty.run_state, worker = null,
    reason = coalesce(s.reason, r.reason),
    finished_at = case when s.reason is not null then coalesce($1::timestamptz, statement_timestamp()) end
  from unnest($3::bigint[], $4::timestamptz[], $5::int[]) u(job_id, slot, attempt)
  left join cronty.stop_requests s on s.worker = $2 and s.job_id = u.job_id and s.scheduled_for = u.slot
  where r.job_id = u.job_id and r.scheduled_for = u.slot and r.attempt = u.attempt and r.worker = $2
  returning r.job_id, r.scheduled_for, r.attempt, r.owner_id, r.crashes, r.started_at, r.state
), waiting as (
  insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, crashes, task)
  select b.job_id, b.scheduled_for, coalesce($1::timestamptz, statement_timestamp()), b.owner_id, b.crashes, j.task
  from back b join cronty.jobs j on j.id = b.job_id
  where b.state = 'waiting'
), counted as (
  update cronty.jobs j set cancelled_count = j.cancelled_count + b.runs
  from (select job_id, count(*) as runs from back where state = 'cancelled' group by job_id) b
  where j.id = b.job_id
), noted as (
  insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, worker, started_at, ended_at, outcome, error)
  select job_id, scheduled_for, attempt, owner_id, $2, started_at, coalesce($1::timestamptz, statement_timestamp()), 'lost',
    'the answer to its claim got lost'
  from back
  on conflict (job_id, scheduled_for, attempt) do update -- left from before a restore
    set worker = excluded.worker, started_at = excluded.started_at, ended_at = excluded.ended_at, outcome = excluded.outcome,
      error = excluded.error
)
select count(*) from back
