-- Delete a channel's URL. What ntfy was given ahead is taken back with the URL it went to. $4 actor, $5 client.
with old as (
  select owner_id, name, scheme, hint from cronty.channels
  where owner_id = (select id from cronty.owners where name = $1) and name = $2 and sealed is not null
  for update
), removed as (
  update cronty.channels c
  set sealed = null, key_id = null, hint = '', removed_at = coalesce($3::timestamptz, statement_timestamp())
  from old o
  where c.owner_id = o.owner_id and c.name = o.name
  returning c.owner_id, c.removed_at, o.name, o.scheme, o.hint
)
insert into cronty.audit_unsealed (at, owner_id, what, actor, client, before)
select removed_at, owner_id, 'channel removed', $4::jsonb, $5::jsonb,
  jsonb_build_object('name', name, 'scheme', scheme, 'hint', hint)
from removed
