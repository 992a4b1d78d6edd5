-- Expire runs that have waited too long: prompts that weren't read for as long as their policy says, and all runs that
-- have waited longer than history is kept. $1 now, $2 seconds of history to keep, $3 nothing expires sooner, $4 and $5 the
-- slot and the job to continue after, $6 how many to look at. Returns a row for each run that was looked at.
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
), unqueued as (
  delete from cronty.queue q using taken t where q.ctid = t.place
), expired as (
  -- Arrays make the planner expect several rows and look each up by key, also in partitions that were empty.
  update cronty.runs r set state = 'missed', reason = t.reason, finished_at = c.now
  from clock c, unnest(array(select job_id from taken), array(select scheduled_for from taken), array(select reason from taken))
    t(job_id, scheduled_for, reason)
  where r.job_id = t.job_id and r.scheduled_for = t.scheduled_for
), noted as (
  -- They were counted when they fired, but aren't successes. A job that ended with one has failed, for that reason.
  update cronty.jobs j
  set cancelled_count = j.cancelled_count + t.runs,
    failures_in_row = j.failures_in_row + t.ended, last_error = case when t.ended > 0 then 'missed: ' || t.reason else j.last_error end
  from (
    select x.job_id, count(*) as runs, max(x.reason) as reason, max(d.ended) as ended
    from taken x
    cross join lateral (
      select (next_at is null and held_slot is null)::int as ended from cronty.due where job_id = x.job_id limit 1
    ) d
    group by x.job_id
  ) t
  where j.id = t.job_id
  returning j.id, j.owner_id, j.name, j.policy::text, j.state::text as state_before,
    j.failures_in_row - t.ended as failures_before, null as error_before, j.state::text, j.failures_in_row, j.last_error,
    j.reason, t.ended
)
select l.job_id, l.scheduled_for, t.job_id is not null as expired, n.*
from looked l
left join taken t on t.job_id = l.job_id and t.scheduled_for = l.scheduled_for
left join noted n on n.id = t.job_id and n.ended > 0
order by l.scheduled_for, l.job_id
