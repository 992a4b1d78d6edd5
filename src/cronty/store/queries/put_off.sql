-- Queue claimed runs again whose attempt has not started: the attempt doesn't count.
-- $1 now, $2 worker, $3 jobs, $4 slots, $5 attempts, $6 seconds to wait, $7 reasons.
with back as (
  update cronty.runs r
  set state = 'waiting', worker = null, attempt = r.attempt - 1, started_at = null, reason = u.reason
  from unnest($3::bigint[], $4::timestamptz[], $5::int[], $6::float8[], $7::text[]) u(job_id, slot, attempt, wait, reason)
  where r.job_id = u.job_id and r.scheduled_for = u.slot and r.attempt = u.attempt and r.worker = $2
  returning r.job_id, r.scheduled_for, r.owner_id, r.crashes, u.wait
)
insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, crashes, task)
select b.job_id, b.scheduled_for, $1::timestamptz + b.wait * interval '1 second', b.owner_id, b.crashes, j.task
from back b join cronty.jobs j on j.id = b.job_id
