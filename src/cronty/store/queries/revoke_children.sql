-- Revoke the keys that were made with a revoked key $2, and those made with them. $1 now, $3 actor, $4 client.
with recursive made as (
  select k.id from cronty.api_keys k where k.parent_id = $2
  union
  select k.id from made m join cronty.api_keys k on k.parent_id = m.id
), revoked as (
  update cronty.api_keys k set revoked_at = coalesce($1::timestamptz, statement_timestamp())
  from made m
  where k.id = m.id and k.revoked_at is null
  returning k.number, k.owner_id, k.name, k.revoked_at
)
insert into cronty.audit_unsealed (at, owner_id, what, actor, client, before)
select r.revoked_at, r.owner_id, 'key revoked', $3::jsonb, $4::jsonb, jsonb_build_object('key_id', r.number, 'name', r.name,
  'with', (select p.number from cronty.api_keys p where p.id = $2))
from revoked r
