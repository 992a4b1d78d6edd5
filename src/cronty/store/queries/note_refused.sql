-- The entry about refused tokens in the installation's trail. $1 now, $2 that trail's owner, $3 how many and why.
insert into cronty.audit_unsealed (at, owner_id, what, after)
values (coalesce($1::timestamptz, statement_timestamp()), $2, 'tokens refused', $3::jsonb)
