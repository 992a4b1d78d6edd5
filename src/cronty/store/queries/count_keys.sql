-- How many keys of an owner are good. $1 now, $2 owner.
select count(*)
from cronty.api_keys k
join cronty.owners o on o.id = k.owner_id
where o.name = $2 and k.revoked_at is null and (k.expires_at is null or k.expires_at > coalesce($1::timestamptz, statement_timestamp()))
