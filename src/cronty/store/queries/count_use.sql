-- Count one use of an owner; how often it was done since $3.
insert into cronty.usage as u (owner_id, what, since, used)
select o.id, $2, $3, 1 from cronty.owners o where o.name = $1
on conflict (owner_id, what, since) do update set used = u.used + 1
returning u.used
