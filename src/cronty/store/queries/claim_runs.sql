-- Claim waiting runs. $1 now, $2 worker, $3 tasks it has, $4 how often they have crashed, $5 how many, $6 owners to
-- leave out.
with picked as (
  select q.job_id, q.scheduled_for, q.place, t.task
  from unnest($3::text[]) t(task)
  cross join lateral (
    select job_id, scheduled_for, ctid as place from cronty.queue
    where task = t.task and crashes = $4 and due_at <= coalesce($1::timestamptz, statement_timestamp())
      and owner_id <> all($6::int[])
    order by due_at
    limit $5
    for update skip locked
  ) q
  limit $5
), taken as (
  delete from cronty.queue q using picked p where q.ctid = p.place
)
update cronty.runs r
set state = 'running', attempt = r.attempt + 1, worker = $2, started_at = coalesce($1::timestamptz, statement_timestamp())
from picked p
join cronty.jobs j on j.id = p.job_id
where r.job_id = p.job_id and r.scheduled_for = p.scheduled_for
returning r.job_id, r.owner_id, r.scheduled_for, r.attempt, r.failures, r.crashes, p.task, j.arguments::text, j.policy::text,
  j.last_error is not null as failing, j.state = 'cancelled' as cancelled
