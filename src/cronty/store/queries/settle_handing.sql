-- Write how it went. What was taken back in the meantime and given after all is written anew, to be taken back again. $1 now, $2 jobs,
-- $3 slots, $4 owners, $5 channels, $6 versions, $7 keys, $8 encrypted URLs, $9 states, $10 seconds until it may be tried again,
-- $11 errors.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
)
insert into cronty.handed_over as h
  (job_id, scheduled_for, owner_id, channel, version, key_id, sealed, state, due_at, handed_at, error)
select u.job_id, u.slot, u.owner_id, u.channel, u.version, u.key_id, u.sealed, u.state, c.now + u.wait * interval '1 second',
  case when u.state = 'held' then c.now end, u.error
from clock c,
  unnest($2::bigint[], $3::timestamptz[], $4::bigint[], $5::text[], $6::int[], $7::text[], $8::bytea[], $9::text[], $10::float8[],
    $11::text[]) u(job_id, slot, owner_id, channel, version, key_id, sealed, state, wait, error)
on conflict (job_id, scheduled_for) do update
set channel = excluded.channel, version = excluded.version, key_id = excluded.key_id, sealed = excluded.sealed,
  state = excluded.state, due_at = excluded.due_at, handed_at = excluded.handed_at, error = excluded.error
