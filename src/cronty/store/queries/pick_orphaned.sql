-- Lock jobs whose key was revoked or has expired and that would still do something: fire, or perform a run that waits, is in
-- line, or is running and may be tried again. $1 now, $2 how many, $3 only keys that ended after this (null: all), $4 the reason
-- with %s for the key's name: a job that was paused for it already is left alone. The limits of 1 make every lookup use the key.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
)
select o.job_id, format($4, k.name) as reason
from cronty.api_keys k
cross join lateral (
  select d.job_id
  from cronty.jobs j
  join cronty.due d on d.job_id = j.id
  left join lateral (select true as found from cronty.queue where job_id = j.id limit 1) waiting on true
  left join lateral (
    select true as found from cronty.runs where job_id = j.id and scheduled_for = d.last_run and state = 'running' limit 1
  ) running on true
  where j.key_id = k.id and j.state in ('active', 'paused')
    and (d.next_at is not null or waiting.found or running.found)
    and (j.state = 'active' or j.reason is distinct from format($4, k.name))
  limit $2
  for update of d skip locked
) o
where least(k.revoked_at, k.expires_at) <= (select now from clock)
  and least(k.revoked_at, k.expires_at) >= coalesce($3::timestamptz, '-infinity')
limit $2
