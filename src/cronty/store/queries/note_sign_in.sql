-- The entry about a sign-in to the dashboard. $1 now, $2 owner, $3 actor, $4 client.
insert into cronty.audit_unsealed (at, owner_id, what, actor, client)
select coalesce($1::timestamptz, statement_timestamp()), o.id, 'signed in', $3::jsonb, $4::jsonb
from cronty.owners o where o.name = $2
