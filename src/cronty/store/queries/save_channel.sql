-- A channel of that name is replaced, a removed one comes back; not beyond $8 channels of one owner. Says which it was.
insert into cronty.channels (owner_id, name, scheme, hint, key_id, sealed, created_at)
select $1, $2, $3, $4, $5, $6, coalesce($7::timestamptz, statement_timestamp())
where (select count(*) from cronty.channels where owner_id = $1 and name <> $2) < $8
on conflict (owner_id, name) do update
set scheme = excluded.scheme, hint = excluded.hint, key_id = excluded.key_id, sealed = excluded.sealed,
  created_at = excluded.created_at, removed_at = null
returning created_at, (select c.sealed is not null from cronty.channels c where c.owner_id = $1 and c.name = $2) as replaced
