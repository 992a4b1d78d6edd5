-- Lock runs that have waited too long, in the queue: prompts that weren't read for as long as their policy says, and all runs that
-- have waited longer than history is kept. $1 now, $2 seconds of history to keep, $3 nothing expires sooner, $4 and $5 the
-- slot and the job to continue after, $6 how many to look at. Returns a row for each run that was looked at;
-- `reason` is null if it hasn't expired, or is locked.
-- It changes nothing: an array that is made of rows which the same statement locks crashes PostgreSQL (18.4) if one of
-- them has just been changed.
-- The queue is locked before the runs, in the same order as a claim and an inbox read: a row deleted from it is waiting,
-- and ours. A retry has waited since its last attempt. A run in line has waited since its slot or, if it was redriven,
-- since its last attempt.
with clock as (
  select coalesce($1::timestamptz, statement_timestamp()) as now
), looked as (
  select q.job_id, q.scheduled_for, q.due_at, q.task, c.now
  from clock c
  cross join lateral (
    select * from cronty.queue
    where scheduled_for <= c.now - least($2::float8, $3::float8) * interval '1 second'
      and (scheduled_for, job_id) > ($4::timestamptz, $5::bigint)
    order by scheduled_for, job_id
    limit $6
  ) q
), late as (
  select l.job_id, l.scheduled_for, l.due_at,
    case when p.seconds is null then format('expired: it waited longer than the %s that history is kept', cronty.span($2))
      else format('expired: nobody %s it within %s', case when r.attempt > 0 then 'settled' else 'read' end, cronty.span(p.seconds))
    end as reason
  from looked l
  cross join lateral (
    select started_at, attempt from cronty.runs where job_id = l.job_id and scheduled_for = l.scheduled_for limit 1
  ) r
  cross join lateral (
    select case when l.task = 'prompt' and (l.due_at is not null or r.attempt = 0) then least(cronty.expires_after(policy), $2) end as seconds
    from cronty.jobs where id = l.job_id
    limit 1
  ) p
  where coalesce(l.due_at, r.started_at, l.scheduled_for) <= l.now - coalesce(p.seconds, $2) * interval '1 second'
    or (l.due_at > l.now and coalesce(r.started_at, l.scheduled_for) <= l.now - $2 * interval '1 second')
), taken as (
  select l.job_id, l.scheduled_for, l.reason, q.place
  from late l
  cross join lateral (
    select ctid as place from cronty.queue
    where job_id = l.job_id and scheduled_for = l.scheduled_for and due_at is not distinct from l.due_at
    limit 1
    for update skip locked
  ) q
)
select l.job_id, l.scheduled_for, t.reason
from looked l
left join taken t on t.job_id = l.job_id and t.scheduled_for = l.scheduled_for
order by l.scheduled_for, l.job_id
