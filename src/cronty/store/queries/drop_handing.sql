-- Take back what was planned of these jobs and isn't any more: their slots have moved, their channel leads elsewhere. New words replace old
-- ones in place, but not while the old ones may still arrive. $1 now, $2 seconds after which no call is under way any more, $3 jobs, $4, $5,
-- $6 and $7 jobs, slots, versions and encrypted URLs that are planned. What stays is looked up by its key, and left out by sorting: comparing
-- each with each takes seconds. The limit and the offset make the lookups use keys.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), dropped as (
  select h.id
  from clock k, unnest($3::bigint[]) u(job_id)
  cross join lateral (
    select h.id from cronty.handed_over h where h.job_id = u.job_id and h.scheduled_for > k.now and h.state <> 'taking' offset 0
  ) h
  except
  select h.id
  from clock k, unnest($4::bigint[], $5::timestamptz[], $6::int[], $7::bytea[]) u(job_id, slot, version, sealed)
  cross join lateral (
    select h.id from cronty.handed_over h
    where h.job_id = u.job_id and h.scheduled_for = u.slot and h.state <> 'taking' and h.sealed = u.sealed
      and (h.version = u.version or coalesce(h.arriving_until, '-infinity') <= k.now)
    limit 1
  ) h
)
update cronty.handed_over h
set state = 'taking', handed_at = null, failures = 0, error = null, due_at = least(greatest(h.due_at, k.now), k.now + make_interval(secs => $2::float8))
from clock k
where h.id = any(array(select id from dropped))
