-- A key that is still good, and whose it is. $1 now, $2 its id.
select k.id, k.hash, k.scopes, k.agent, o.name as owner,
  coalesce(k.last_used_at < coalesce($1::timestamptz, statement_timestamp()) - interval '1 minute', true) as stale
from cronty.api_keys k
join cronty.owners o on o.id = k.owner_id
where k.id = $2 and k.revoked_at is null
  and (k.expires_at is null or k.expires_at > coalesce($1::timestamptz, statement_timestamp()))
