-- Release the first run in line of each job that has none running. $1 now, $2 jobs, whose due rows are locked.
-- The current run is locked, so that this and its settlement happen one after the other: either this sees that the run has
-- ended, or the settlement, which releases next, sees the line. The limits of 1 make every lookup use the key, also in a
-- plan that was made while the tables were empty.
with first as (
  select u.job_id, q.place, d.last_run
  from unnest($2::bigint[]) u(job_id)
  cross join lateral (
    select ctid as place from cronty.queue where job_id = u.job_id and due_at is null order by scheduled_for limit 1
  ) q
  cross join lateral (select last_run from cronty.due where job_id = u.job_id limit 1) d
), busy as (
  select r.job_id
  from first f
  cross join lateral (
    select job_id from cronty.runs
    where job_id = f.job_id and scheduled_for = f.last_run and finished_at is null
    limit 1
    for share
  ) r
  left join lateral ( -- the current run failed, was redriven, and is in line itself
    select job_id from cronty.queue where job_id = f.job_id and scheduled_for = f.last_run and due_at is null limit 1
  ) itself on true
  where itself.job_id is null
), released as (
  update cronty.queue q set due_at = coalesce($1::timestamptz, statement_timestamp())
  from first f
  where q.ctid = f.place and not exists (select from busy b where b.job_id = f.job_id)
  returning q.job_id, q.scheduled_for
), pointed as (
  update cronty.due d set last_run = r.scheduled_for from released r where d.job_id = r.job_id
)
select job_id from released
