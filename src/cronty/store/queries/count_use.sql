-- Count uses by an owner's request; how many there are since $3, those by engines included. $4 how many, also 0.
insert into cronty.usage as u (owner_id, what, since, at_door, used)
select o.id, $2, $3, true, $4 from cronty.owners o where o.name = $1
on conflict (owner_id, what, since, at_door) do update set used = u.used + excluded.used
returning u.used + coalesce((
  select e.used from cronty.usage e
  where e.owner_id = u.owner_id and e.what = u.what and e.since = u.since and not e.at_door), 0)
