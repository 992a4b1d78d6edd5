-- Take a key back; once.
update cronty.api_keys k set revoked_at = coalesce($1::timestamptz, statement_timestamp())
from cronty.owners o
where o.id = k.owner_id and o.name = $2 and k.id = $3 and k.revoked_at is null
