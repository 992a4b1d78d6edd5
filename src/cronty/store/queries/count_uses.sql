-- Count what is limited, in an order that two who do so share. $1 owners, $2 what, $3 since when, $4 how often.
insert into cronty.usage as u (owner_id, what, since, used)
select * from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::bigint[]) n(owner_id, what, since, used)
order by n.owner_id, n.what, n.since
on conflict (owner_id, what, since) do update set used = u.used + excluded.used
returning u.owner_id, u.what, u.since, u.used
