-- A list of that name is replaced; not beyond $5 lists of one owner. $6 actor, $7 client, $8 digest of the days, $9 where
-- public holidays come from, null for an owner's own list: public ones don't replace it.
with old as (
  select updated_at from cronty.calendars where owner_id = $1 and name = $2
), saved as (
  insert into cronty.calendars (owner_id, name, days, updated_at, digest, source)
  select $1, $2, $3::jsonb, coalesce($4::timestamptz, statement_timestamp()), $8, $9
  where (select count(*) from cronty.calendars where owner_id = $1 and name <> $2) < $5
  on conflict (owner_id, name) do update
    set days = excluded.days, updated_at = excluded.updated_at, digest = excluded.digest, source = excluded.source,
      moving = calendars.moving or calendars.digest <> excluded.digest
    where excluded.source is null
  returning owner_id, name, updated_at
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, what, actor, client, after)
  select s.updated_at, s.owner_id, case when exists (select from old) then 'calendar replaced' else 'calendar added' end,
    $6::jsonb, $7::jsonb, jsonb_build_object('name', s.name)
  from saved s
)
select updated_at from saved
