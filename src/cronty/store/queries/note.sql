-- An entry of the trail. $1 now, $2 owner, $3 job, $4 what, $5 actor, $6 client, $7 before, $8 after.
insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, actor, client, before, after)
select coalesce($1::timestamptz, statement_timestamp()), $2, j.id, j.number, $4, $5::jsonb, $6::jsonb, $7::jsonb, $8::jsonb
from cronty.jobs j where j.id = $3
