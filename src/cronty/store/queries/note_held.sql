-- A line in the trail of owners that a limit holds back. $1 now, $2 owners, $3 jobs, $4 why.
insert into cronty.audit (at, owner_id, job_id, what, after)
select $1, owner_id, job_id, 'held by a limit', jsonb_build_object('reason', why)
from unnest($2::bigint[], $3::bigint[], $4::text[]) u(owner_id, job_id, why)
