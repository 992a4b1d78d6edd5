-- Let the runs go that waited behind these.
update cronty.queue q
set due_at = coalesce($1::timestamptz, statement_timestamp()), behind = null
from unnest($2::bigint[], $3::timestamptz[]) u(job_id, slot)
join cronty.runs r on r.job_id = u.job_id and r.scheduled_for = u.slot and r.finished_at is not null
where q.job_id = any($2::bigint[]) and q.job_id = u.job_id and q.behind = u.slot and q.due_at is null
returning 1
