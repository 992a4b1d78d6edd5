-- The number of a zone database. $1 its version.
insert into cronty.tzdata (version) values ($1)
on conflict (version) do update set version = excluded.version
returning id
