-- Revoke a key, unless it is revoked already. $3 its number, $4 actor, $5 client. Returns its id.
with revoked as (
  update cronty.api_keys k set revoked_at = coalesce($1::timestamptz, statement_timestamp())
  from cronty.owners o
  where o.id = k.owner_id and o.name = $2 and k.number = $3 and k.revoked_at is null
  returning k.id, k.number, k.owner_id, k.name, k.revoked_at
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, what, actor, client, before)
  select revoked_at, owner_id, 'key revoked', $4::jsonb, $5::jsonb, jsonb_build_object('key_id', number, 'name', name) from revoked
)
select id from revoked
