-- Pause jobs whose key was revoked or has expired: nothing may run with an invalid key. $1 now, $2 how many,
-- $3 only keys that ended after this (null: all). The due row is locked first, as everywhere.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), orphaned as (
  select o.job_id, k.name
  from cronty.api_keys k
  cross join lateral (
    select d.job_id
    from cronty.jobs j
    join cronty.due d on d.job_id = j.id
    where j.key_id = k.id and j.state = 'active' and d.next_at is not null
    limit $2
    for update of d skip locked
  ) o
  where least(k.revoked_at, k.expires_at) <= (select now from clock)
    and least(k.revoked_at, k.expires_at) >= coalesce($3::timestamptz, '-infinity')
  limit $2
), held as (
  update cronty.due d
  set held_slot = d.next_at - make_interval(secs => d.delay), next_at = null
  from orphaned o
  where d.job_id = o.job_id
  returning d.job_id, o.name
), paused as (
  update cronty.jobs j
  set state = 'paused', version = j.version + 1, updated_at = coalesce($1::timestamptz, statement_timestamp()),
    reason = 'the key "' || h.name || '" it was made with is no longer good'
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
