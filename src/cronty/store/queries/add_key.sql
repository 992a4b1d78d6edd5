-- A new API key of an owner.
insert into cronty.api_keys (owner_id, name, hash, scopes, agent, created_at, expires_at)
select o.id, $2, $3, $4, $5, coalesce($6::timestamptz, statement_timestamp()), $7 from cronty.owners o where o.name = $1
returning id
