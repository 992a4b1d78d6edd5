-- Know again what ntfy was given by an engine whose claim had been taken over meanwhile: whoever stood still and goes on may give it old
-- words, or what was taken back. That is taken back once more, and the new words are given once more. $1 now, $2 messages, $3 jobs,
-- $4 slots, $5 owners, $6 their names, $7 channels, $8 versions, $9 keys, $10 encrypted URLs.
insert into cronty.handed_over as h
  (id, job_id, scheduled_for, owner_id, owner, channel, version, key_id, sealed, state, there, recalled, due_at)
overriding system value
select u.id, u.job_id, u.slot, u.owner_id, u.owner, u.channel, u.version, u.key_id, u.sealed, 'taking', true, true, k.now
from (select coalesce($1::timestamptz, statement_timestamp()) as now) k,
  unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::text[], $8::int[], $9::text[], $10::bytea[])
    u(id, job_id, slot, owner_id, owner, channel, version, key_id, sealed)
where u.slot > k.now
order by u.id
on conflict (id) do update
set there = true, state = case h.state when 'held' then 'giving' else h.state end, handed_at = null, tries = h.tries + 1, claimed = false,
  due_at = excluded.due_at
where h.state = 'taking' or h.version <> excluded.version
