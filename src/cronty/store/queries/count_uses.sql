-- Count uses by engines, in a fixed order against deadlocks; the counts include those by requests.
-- $1 owners, $2 what, $3 since when, $4 how often.
insert into cronty.usage as u (owner_id, what, since, at_door, used)
select n.owner_id, n.what, n.since, false, n.used
from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::bigint[]) n(owner_id, what, since, used)
join cronty.owners o on o.id = n.owner_id -- none if the owner was erased meanwhile
order by n.owner_id, n.what, n.since
on conflict (owner_id, what, since, at_door) do update set used = u.used + excluded.used
returning u.owner_id, u.what, u.since, u.used + coalesce((
  select d.used from cronty.usage d
  where d.owner_id = u.owner_id and d.what = u.what and d.since = u.since and d.at_door), 0) as used
