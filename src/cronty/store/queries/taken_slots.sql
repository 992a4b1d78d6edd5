-- Which of these slots have a run row already.
select r.job_id, r.scheduled_for
from unnest($1::bigint[], $2::timestamptz[]) u(job_id, slot)
join cronty.runs r on r.job_id = u.job_id and r.scheduled_for = u.slot
