-- Write how tellings went; each must not have been taken by another since. $1 now, $2 jobs, $3 slots, $4 which try, $5 states,
-- $6 seconds until the next try (null: none follows), $7 failures so far, $8 channels, $9 errors, $10 digests. Written
-- again, because the answer got lost, it changes nothing. The limit of 1 makes the lookup use the key.
with found as (
  select u.*, t.place
  from unnest($2::bigint[], $3::timestamptz[], $4::int[], $5::text[], $6::float8[], $7::int[], $8::text[], $9::text[], $10::text[])
    u(job_id, slot, tries, state, wait, failures, channel, error, digest)
  cross join lateral (
    select ctid as place from cronty.tellings t
    where t.job_id = u.job_id and t.scheduled_for = u.slot and t.tries = u.tries
    limit 1
    for update
  ) t
)
update cronty.tellings t
set state = f.state, due_at = n.now + f.wait * interval '1 second', failures = f.failures, channel = f.channel,
  error = f.error, told_at = case when f.state = 'delivered' then n.now end, digest = f.digest
from found f, (select coalesce($1::timestamptz, statement_timestamp()) as now) n
where t.ctid = f.place
