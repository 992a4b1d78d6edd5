-- Queue waiting runs: due at once, or in line behind the others of their job ($5 true). $6 now.
insert into cronty.queue (job_id, scheduled_for, owner_id, task, due_at)
select u.job_id, u.slot, u.owner_id, u.task, case when not u.in_line then $6::timestamptz end
from unnest($1::bigint[], $2::timestamptz[], $3::bigint[], $4::text[], $5::boolean[]) u(job_id, slot, owner_id, task, in_line)
