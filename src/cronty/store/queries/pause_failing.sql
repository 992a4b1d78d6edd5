-- Pause jobs that keep failing, or whose target is gone. $1 now, $2 jobs, $3 reasons; a job without a reason is paused only
-- if it has failed too often in a row. A `pause_after` that only a newer version can read counts as the default. The due
-- row is locked first, as everywhere.
with held as (
  update cronty.due d
  set held_slot = d.next_at - make_interval(secs => d.delay), next_at = null
  from unnest($2::bigint[], $3::text[]) u(job_id, why)
  join cronty.jobs j on j.id = u.job_id
  where d.job_id = u.job_id and d.next_at is not null and j.state = 'active'
    and (u.why is not null or j.failures_in_row >= nullif(
      case when jsonb_typeof(j.policy -> 'pause_after') = 'number' and j.policy ->> 'pause_after' ~ '^[0-9]{1,4}$'
        then (j.policy ->> 'pause_after')::int else 10 end, 0))
  returning d.job_id, u.why
), paused as (
  update cronty.jobs j
  set state = 'paused', version = j.version + 1, updated_at = coalesce($1::timestamptz, statement_timestamp()),
    reason = coalesce(h.why, 'it failed ' || j.failures_in_row || ' times in a row')
  from held h
  where j.id = h.job_id and j.state = 'active'
  returning j.id, j.owner_id, j.number, j.name, j.policy::text, j.updated_at, 'active' as state_before,
    j.failures_in_row as failures_before, j.last_error as error_before, j.state::text, j.failures_in_row, j.last_error, j.reason
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, before, after)
  select p.updated_at, p.owner_id, p.id, p.number, 'paused', jsonb_build_object('state', 'active'),
    jsonb_build_object('state', 'paused', 'reason', p.reason)
  from paused p
)
select * from paused
