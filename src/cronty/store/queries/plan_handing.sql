-- Write down what ntfy is to be given, before it is. What it has as it is now is left alone; what it has with other words is replaced. $1 now,
-- $2 seconds after which no call is under way any more, $3 jobs, $4 slots, $5 owners, $6 their names, $7 channels, $8 versions, $9 keys,
-- $10 encrypted URLs.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
)
insert into cronty.handed_over as h (job_id, scheduled_for, owner_id, owner, channel, version, key_id, sealed, due_at)
select u.job_id, u.slot, u.owner_id, u.owner, u.channel, u.version, u.key_id, u.sealed, k.now
from clock k,
  unnest($3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::text[], $8::int[], $9::text[], $10::bytea[])
    u(job_id, slot, owner_id, owner, channel, version, key_id, sealed)
order by u.job_id, u.slot
on conflict (job_id, scheduled_for) where state <> 'taking' do update
set version = excluded.version, state = 'giving', handed_at = null, failures = 0, error = null,
  due_at = least(greatest(h.due_at, excluded.due_at), excluded.due_at + make_interval(secs => $2::float8))
where h.sealed = excluded.sealed and h.version <> excluded.version
