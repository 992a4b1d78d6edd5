-- The entry about an erased owner in the installation's trail. $1 now, $2 that trail's owner, $3 actor, $4 client, $5 after.
insert into cronty.audit_unsealed (at, owner_id, what, actor, client, after)
values (coalesce($1::timestamptz, statement_timestamp()), $2, 'owner erased', $3::jsonb, $4::jsonb, $5::jsonb)
