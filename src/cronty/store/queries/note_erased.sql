-- The line of the trail that an erased owner leaves. $1 now, $2 whose chain it is in, $3 actor, $4 client, $5 after.
insert into cronty.audit_unsealed (at, owner_id, what, actor, client, after)
values (coalesce($1::timestamptz, statement_timestamp()), $2, 'owner erased', $3::jsonb, $4::jsonb, $5::jsonb)
