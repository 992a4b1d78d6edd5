-- Set an owner's limits, with an entry in the trail. $1 owner, $2 limits, $3 actor, $4 client, $5 now.
with old as (
  select id, limits from cronty.owners where name = $1 for no key update
), changed as (
  update cronty.owners o set limits = $2::jsonb
  from old where o.id = old.id and old.limits is distinct from $2::jsonb
  returning o.id, old.limits as before
)
insert into cronty.audit_unsealed (at, owner_id, what, actor, client, before, after)
select coalesce($5::timestamptz, statement_timestamp()), id, 'limits changed', $3::jsonb, $4::jsonb, before, $2::jsonb
from changed
