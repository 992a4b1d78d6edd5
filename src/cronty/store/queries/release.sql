-- Let the first in line of each job go, if nothing of the job is under way. $1 now, $2 jobs, whose due rows are locked.
-- Locking the run whose turn it is makes this and its settlement happen one after the other: either this sees that it
-- is over, or the settlement, which releases next, sees the line.
with first as (
  select distinct on (q.job_id) q.job_id, q.scheduled_for, d.last_run
  from unnest($2::bigint[]) u(job_id)
  join cronty.queue q on q.job_id = u.job_id and q.due_at is null
  join cronty.due d on d.job_id = q.job_id
  order by q.job_id, q.scheduled_for
), busy as (
  select r.job_id
  from first f join cronty.runs r on r.job_id = f.job_id and r.scheduled_for = f.last_run
  where r.finished_at is null and r.scheduled_for <> f.scheduled_for
  for share of r
), released as (
  update cronty.queue q set due_at = coalesce($1::timestamptz, statement_timestamp())
  from first f
  where q.job_id = f.job_id and q.scheduled_for = f.scheduled_for
    and not exists (select from busy b where b.job_id = f.job_id)
  returning q.job_id, q.scheduled_for
), pointed as (
  update cronty.due d set last_run = r.scheduled_for from released r where d.job_id = r.job_id
)
select job_id from released
