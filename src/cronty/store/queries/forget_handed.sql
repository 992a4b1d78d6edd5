-- Forget what ntfy hasn't got any more. $1 messages, $2 which try, $3 states and $4 versions as they were claimed: if those changed
-- meanwhile, it is settled instead. The limit of 1 makes the lookup use the key. Returns what is forgotten.
delete from cronty.handed_over
where ctid = any(array(
  select t.place
  from unnest($1::bigint[], $2::int[], $3::text[], $4::int[]) u(id, tries, state, version)
  cross join lateral (
    select ctid as place from cronty.handed_over h
    where h.id = u.id and h.tries = u.tries and h.claimed and h.state = u.state and h.version = u.version
    limit 1
    for update
  ) t))
returning id
