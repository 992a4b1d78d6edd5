-- Take back what was planned of these jobs and isn't any more: their slots have moved, their channel leads elsewhere. New words replace old
-- ones in place, but not while the old ones may still arrive. $1 now, $2 seconds after which no call is under way any more, $3 jobs, $4, $5,
-- $6 and $7 jobs, slots, versions and encrypted URLs that are planned.
update cronty.handed_over h
set state = 'taking', handed_at = null, failures = 0, error = null, due_at = least(greatest(h.due_at, k.now), k.now + make_interval(secs => $2::float8))
from (select coalesce($1::timestamptz, statement_timestamp()) as now) k
where h.job_id = any($3::bigint[]) and h.scheduled_for > k.now and h.state <> 'taking'
  and not exists (
    select from unnest($4::bigint[], $5::timestamptz[], $6::int[], $7::bytea[]) u(job_id, slot, version, sealed)
    where u.job_id = h.job_id and u.slot = h.scheduled_for and u.sealed = h.sealed
      and (u.version = h.version or coalesce(h.arriving_until, '-infinity') <= k.now))
