-- Set jobs aside whose next slot can't be computed any more. The slot is kept in `held_slot`. $1 now, $2 jobs, $3 why.
with parked as (
  update cronty.due d
  set held_slot = d.next_at - make_interval(secs => d.delay), next_at = null
  from unnest($2::bigint[]) u(job_id)
  where d.job_id = u.job_id
), aside as (
  update cronty.jobs j
  set state = 'set_aside', reason = u.why, version = j.version + 1, updated_at = $1
  from unnest($2::bigint[], $3::text[]) u(job_id, why)
  where j.id = u.job_id
  returning j.id, j.owner_id, j.number, j.name, j.policy::text, 'active' as state_before, j.failures_in_row as failures_before,
    j.last_error as error_before, j.state::text, j.failures_in_row, j.last_error, j.reason
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, before, after)
  select $1, owner_id, id, number, 'set aside', jsonb_build_object('state', state_before),
    jsonb_build_object('state', state, 'reason', reason)
  from aside
)
select * from aside
