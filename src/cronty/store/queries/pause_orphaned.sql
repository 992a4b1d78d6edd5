-- Pause the jobs whose key was revoked or has run out: nothing runs on an authority that is gone. $1 now, $2 how many.
with orphaned as (
  select j.id, k.name
  from cronty.api_keys k
  join cronty.jobs j on j.key_id = k.id and j.state = 'active'
  where k.revoked_at is not null or k.expires_at <= coalesce($1::timestamptz, statement_timestamp())
  limit $2
), held as (
  update cronty.due d
  set held_slot = d.next_at - make_interval(secs => d.delay), next_at = null
  from orphaned o
  where d.job_id = o.id and d.next_at is not null
  returning d.job_id, o.name
)
update cronty.jobs j
set state = 'paused', version = j.version + 1, updated_at = coalesce($1::timestamptz, statement_timestamp()),
  reason = 'the key "' || h.name || '" it was made with is no longer good'
from held h
where j.id = h.job_id and j.state = 'active'
returning j.id, j.reason
