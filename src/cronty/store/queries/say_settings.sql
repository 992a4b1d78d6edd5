-- Say what holds for tasks, unless a younger worker that lives has said it. $1 worker, $2 when it started, $3 tasks, $4 their
-- settings. A limit that is only named, without figures, keeps those it has.
with said as (
  update cronty.tasks t
  set settings = u.settings::jsonb, said_at = $2, said_by = $1
  from unnest($3::text[], $4::text[]) u(name, settings)
  where t.name = u.name
    and (t.said_at is null or t.said_at <= $2 or not exists (select from cronty.workers w where w.id = t.said_by))
  returning t.name, t.settings
), limits as (
  select distinct l.key as name, l.value from said s cross join lateral jsonb_each(coalesce(s.settings -> 'limits', '{}')) l
), named as (
  insert into cronty.task_limits (name) select l.name from limits l where l.value = 'null' on conflict (name) do nothing
), given as (
  insert into cronty.task_limits (name, at_once, per_minute)
  select l.name, (l.value ->> 'at_once')::int, (l.value ->> 'per_minute')::int from limits l where l.value <> 'null'
  on conflict (name) do update set at_once = excluded.at_once, per_minute = excluded.per_minute
)
select name from said
