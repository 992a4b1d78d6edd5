-- The checkpoints of these owners' chains. $1 owners.
select c.owner_id, c.month, c.number, c.hash from cronty.audit_checkpoints c where c.owner_id = any($1::bigint[])
