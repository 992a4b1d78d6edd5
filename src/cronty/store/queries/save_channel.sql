-- Add a channel, or replace the one of that name, at most $8 per owner and $11 names with those of removed ones; `replaced`
-- says which it was. $9 actor, $10 client, $12 whether ntfy is given notifications ahead. The trail gets the public parts, never the URL.
with old as (
  select scheme, hint, sealed is not null as there from cronty.channels where owner_id = $1 and name = $2
), saved as (
  insert into cronty.channels (owner_id, name, scheme, hint, key_id, sealed, created_at, ahead)
  select $1, $2, $3, $4, $5, $6, coalesce($7::timestamptz, statement_timestamp()), $12
  where (
    select count(*) filter (where sealed is not null) < $8 and count(*) < $11
    from cronty.channels where owner_id = $1 and name <> $2)
  on conflict (owner_id, name) do update
  set scheme = excluded.scheme, hint = excluded.hint, key_id = excluded.key_id, sealed = excluded.sealed,
    created_at = excluded.created_at, removed_at = null, ahead = excluded.ahead
  returning owner_id, name, scheme, hint, created_at, ahead
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, what, actor, client, before, after)
  select s.created_at, s.owner_id, case when o.there then 'channel replaced' else 'channel added' end, $9::jsonb, $10::jsonb,
    case when o.there then jsonb_build_object('name', s.name, 'scheme', o.scheme, 'hint', o.hint) end,
    jsonb_build_object('name', s.name, 'scheme', s.scheme, 'hint', s.hint)
      || case when s.ahead then '{"ahead": true}'::jsonb else '{}' end
  from saved s left join old o on true
)
select created_at, (select there from old) as replaced from saved
