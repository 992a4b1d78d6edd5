-- Pause the jobs that `pick_orphaned` has locked, or cancel those that have no slot left: nothing may run with an invalid key.
-- $1 now, $2 jobs, $3 reasons. Their runs were stopped before.
with held as (
  update cronty.due d
  set held_slot = coalesce(d.next_at - make_interval(secs => d.delay), d.held_slot), next_at = null
  from unnest($2::bigint[], $3::text[]) u(job_id, why)
  where d.job_id = u.job_id
  returning d.job_id, u.why, d.held_slot is null as over
), was as (
  select h.job_id, h.why, h.over, j.state, j.failures_in_row, j.last_error
  from held h
  cross join lateral (select state, failures_in_row, last_error from cronty.jobs where id = h.job_id limit 1) j
), paused as (
  update cronty.jobs j
  set state = case when w.over then 'cancelled' else 'paused' end::cronty.job_state, version = j.version + 1,
    updated_at = coalesce($1::timestamptz, statement_timestamp()), reason = w.why,
    failures_in_row = j.failures_in_row + w.over::int,
    last_error = case when w.over then 'cancelled: ' || w.why else j.last_error end
  from was w
  where j.id = w.job_id
  returning j.id, j.owner_id, j.number, j.name, j.policy::text, j.updated_at, w.state::text as state_before,
    w.failures_in_row as failures_before, w.last_error as error_before, j.state::text, j.failures_in_row, j.last_error, j.reason
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, before, after)
  select p.updated_at, p.owner_id, p.id, p.number, p.state, jsonb_build_object('state', p.state_before),
    jsonb_build_object('state', p.state, 'reason', p.reason)
  from paused p
)
select * from paused
