select j.number from cronty.jobs j join cronty.owners o on o.id = j.owner_id
where o.name = $1 and j.idempotency_key = $2 and j.deleted_at is null
