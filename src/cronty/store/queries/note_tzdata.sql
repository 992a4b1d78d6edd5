-- Say which version of the zone database this process has; hear its number and the newest one that was ever seen.
with mine as (
  insert into cronty.tzdata (name) values ($1) on conflict (name) do update set name = excluded.name returning id
)
select mine.id, greatest($1, (select max(name) from cronty.tzdata)) as newest from mine
