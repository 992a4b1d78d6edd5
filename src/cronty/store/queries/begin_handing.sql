-- Write down what is about to be given to ntfy or taken back, before it is: whoever is killed in between leaves it to be repeated.
-- Nobody else takes it up for $2 seconds. Returns what is ours. $1 now, $3 jobs, $4 slots, $5 owners, $6 channels, $7 versions,
-- $8 keys, $9 encrypted URLs, $10 states.
-- Nothing is while the installation is frozen.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now from cronty.server where only_row and frozen_at is null
)
insert into cronty.handed_over as h (job_id, scheduled_for, owner_id, channel, version, key_id, sealed, state, due_at, tries)
select u.job_id, u.slot, u.owner_id, u.channel, u.version, u.key_id, u.sealed, u.state, c.now + $2::float8 * interval '1 second', 1
from clock c,
  unnest($3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::int[], $8::text[], $9::bytea[], $10::text[])
    u(job_id, slot, owner_id, channel, version, key_id, sealed, state)
on conflict (job_id, scheduled_for) do update
set channel = excluded.channel, version = excluded.version, key_id = excluded.key_id, sealed = excluded.sealed,
  state = excluded.state, due_at = excluded.due_at, handed_at = null, tries = case when h.error is null then 1 else h.tries + 1 end
where h.due_at is null or h.due_at <= (select now from clock)
returning job_id, scheduled_for
