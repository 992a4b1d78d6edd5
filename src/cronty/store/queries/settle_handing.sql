-- Write how calls to ntfy went; each must not have been taken by another since, nor settled already. One whose plan changed meanwhile is next
-- at once. $1 now, $2 messages, $3 which try, $4 states and $5 versions as they were claimed, $6 whether ntfy has it, $7 whether it may have
-- it, $8 whether a call to take it back may be on its way, $9 until when one to give it may be carried out, $10 seconds until the next try
-- (null: none), $11 whether it failed, $12 errors. The limit of 1 makes the lookup use the key. Returns what is settled.
with found as (
  select u.*, h.place, h.same
  from unnest($2::bigint[], $3::int[], $4::text[], $5::int[], $6::boolean[], $7::boolean[], $8::boolean[], $9::timestamptz[], $10::float8[],
    $11::boolean[], $12::text[]) u(id, tries, state, version, held, there, recalled, arriving_until, wait, failed, error)
  cross join lateral (
    select h.ctid as place, h.state = u.state and h.version = u.version as same from cronty.handed_over h
    where h.id = u.id and h.tries = u.tries and h.claimed
    limit 1
    for update
  ) h
)
update cronty.handed_over h
set claimed = false, state = case when f.same and f.held then 'held' else h.state end, handed_at = case when f.same and f.held then k.now end,
  there = f.there, recalled = f.recalled, arriving_until = f.arriving_until,
  failures = case when f.failed then h.failures + 1 when f.held then 0 else h.failures end, error = f.error,
  due_at = case when not f.same then k.now when not f.held then k.now + f.wait * interval '1 second' end
from found f, (select coalesce($1::timestamptz, statement_timestamp()) as now) k
where h.ctid = f.place
returning h.id
