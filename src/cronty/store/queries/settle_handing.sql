-- Write how calls to ntfy went; each must not have been taken by another since. One whose plan changed meanwhile is next at once. $1 now,
-- $2 jobs, $3 slots, $4 which try, $5 states and $6 versions as they were claimed, $7 whether ntfy has it, $8 whether it may have it,
-- $9 seconds until the next try, $10 whether it failed, $11 errors. The limit of 1 makes the lookup use the key.
with found as (
  select u.*, h.place, h.same
  from unnest($2::bigint[], $3::timestamptz[], $4::int[], $5::text[], $6::int[], $7::boolean[], $8::boolean[], $9::float8[], $10::boolean[],
    $11::text[]) u(job_id, slot, tries, state, version, held, there, wait, failed, error)
  cross join lateral (
    select h.ctid as place, h.state = u.state and h.version = u.version as same from cronty.handed_over h
    where h.job_id = u.job_id and h.scheduled_for = u.slot and h.tries = u.tries
    limit 1
    for update
  ) h
)
update cronty.handed_over h
set state = case when f.same and f.held then 'held' else h.state end, handed_at = case when f.same and f.held then k.now end,
  there = f.there, failures = case when f.failed then h.failures + 1 else 0 end, error = f.error,
  due_at = case when not f.same then k.now when not f.held then k.now + f.wait * interval '1 second' end
from found f, (select coalesce($1::timestamptz, statement_timestamp()) as now) k
where h.ctid = f.place
