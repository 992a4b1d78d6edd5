-- An entry in the trail of owners that reached a limit. $1 now, $2 owners, $3 jobs (0: none), $4 why.
insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what, after)
select $1, u.owner_id, j.id, j.number, 'held by a limit', jsonb_build_object('reason', why)
from unnest($2::bigint[], $3::bigint[], $4::text[]) u(owner_id, job_id, why)
left join cronty.jobs j on j.id = u.job_id
