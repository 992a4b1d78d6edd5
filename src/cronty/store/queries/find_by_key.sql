select j.number, j.request from cronty.jobs j
where j.owner_id = (select id from cronty.owners where name = $1) and j.idempotency_key = $2 and j.deleted_at is null
