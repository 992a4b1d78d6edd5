-- Replace public holidays of all owners; the owners whose days are other ones now. $1 name, $2 the old source, $3 now,
-- $4 days, $5 their digest, $6 the new source.
with old as (
  select owner_id, digest from cronty.calendars where name = $1 and source = $2 order by owner_id for update
), renewed as (
  update cronty.calendars c
  set days = $4::jsonb, digest = $5, source = $6, updated_at = coalesce($3::timestamptz, statement_timestamp())
  from old
  where c.owner_id = old.owner_id and c.name = $1 and c.source = $2
  returning c.owner_id, old.digest <> $5 as differ
)
select o.name as owner from renewed r join cronty.owners o on o.id = r.owner_id where r.differ order by o.name
