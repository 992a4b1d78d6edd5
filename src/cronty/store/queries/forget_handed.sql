-- Forget what ntfy hasn't got any more, or what has rung. $1 jobs, $2 slots, $3 which try, $4 states and $5 versions as they were claimed:
-- if those changed meanwhile, it is settled instead. The limit of 1 makes the lookup use the key. Returns what is forgotten.
delete from cronty.handed_over
where ctid = any(array(
  select t.place
  from unnest($1::bigint[], $2::timestamptz[], $3::int[], $4::text[], $5::int[]) u(job_id, slot, tries, state, version)
  cross join lateral (
    select ctid as place from cronty.handed_over h
    where h.job_id = u.job_id and h.scheduled_for = u.slot and h.tries = u.tries and h.state = u.state and h.version = u.version
    limit 1
    for update
  ) t))
