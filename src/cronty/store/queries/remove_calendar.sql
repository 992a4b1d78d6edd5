-- Forget a list. $3 now, $4 actor, $5 client.
with removed as (
  delete from cronty.calendars c
  using cronty.owners o
  where o.name = $1 and c.owner_id = o.id and c.name = $2
  returning c.owner_id, c.name
)
insert into cronty.audit_unsealed (at, owner_id, what, actor, client, before)
select coalesce($3::timestamptz, statement_timestamp()), owner_id, 'calendar removed', $4::jsonb, $5::jsonb,
  jsonb_build_object('name', name)
from removed
