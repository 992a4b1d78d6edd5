-- Set an owner's zone, with an entry in the trail; with $6 only if it has none. Its zone before. $1 now, $2 owner, $3 the zone,
-- $4 actor, $5 client.
with old as (
  select id, zone from cronty.owners where name = $2 for no key update
), changed as (
  update cronty.owners o set zone = $3
  from old where o.id = old.id and old.zone is distinct from $3 and (old.zone is null or not $6)
  returning o.id, old.zone as before
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, what, actor, client, before, after)
  select coalesce($1::timestamptz, statement_timestamp()), id, 'zone set', $4::jsonb, $5::jsonb,
    case when before is not null then jsonb_build_object('zone', before) end, jsonb_build_object('zone', $3)
  from changed
)
select zone from old
