-- An owner's keys, never their secrets.
select k.number, k.name, k.scopes, k.agent, k.created_at, k.expires_at, k.last_used_at, k.revoked_at
from cronty.api_keys k
join cronty.owners o on o.id = k.owner_id
where o.name = $1
order by k.number
