-- Put prompts back that were just read, because their owner is over a limit: they count as not read. $1 owner, $2 the
-- numbers of their jobs, $3 slots, $4 attempts, $5 when they are shown again, $6 why.
with held as (
  update cronty.queue q
  set due_at = $5
  from unnest($2::bigint[], $3::timestamptz[], $4::int[]) u(number, slot, attempt)
  join cronty.jobs j on j.owner_id = (select id from cronty.owners where name = $1) and j.number = u.number
  where q.job_id = j.id and q.scheduled_for = u.slot and q.task = 'prompt'
  returning q.job_id, q.scheduled_for, u.attempt
)
update cronty.runs r
set attempt = r.attempt - 1, reason = $6
from held h
where r.job_id = h.job_id and r.scheduled_for = h.scheduled_for and r.attempt = h.attempt
