-- A new API key of an owner, and its entry in the trail. $8 actor, $9 client, $10 the random part of its id, $11 the key it is
-- made with (null: none). No row if its id or its number was taken meanwhile, or if that key was revoked: the lock makes
-- revoking it wait until this one can be seen.
with parent as (
  select p.id from cronty.api_keys p where p.id = $11 and p.revoked_at is null for share
), made as (
  insert into cronty.api_keys (id, number, owner_id, name, hash, scopes, agent, parent_id, created_at, expires_at)
  select ($10::bigint << 10) | s.number, 1 + coalesce((select max(k.number) from cronty.api_keys k where k.owner_id = o.id), 0),
    o.id, $2, $3, $4, $5, $11, coalesce($6::timestamptz, statement_timestamp()), $7
  from cronty.owners o, cronty.server s where o.name = $1 and ($11::bigint is null or exists (select from parent))
  on conflict do nothing
  returning id, number, owner_id, name, scopes, agent, created_at, expires_at
), noted as (
  insert into cronty.audit_unsealed (at, owner_id, what, actor, client, after)
  select created_at, owner_id, 'key added', $8::jsonb, $9::jsonb, jsonb_strip_nulls(jsonb_build_object(
    'key_id', number, 'name', name, 'scopes', to_jsonb(scopes), 'agent', agent,
    'expires_at', to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')))
  from made
)
select id, number from made
