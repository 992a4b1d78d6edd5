-- The limits that tasks name, for `cronty doctor`: what is under way, what began within the last minute, until when each is held, and
-- how many due runs wait, counted up to 10,000. $1 the moment.
select l.name, l.at_once, l.per_minute, case when l.held_until > n.now then l.held_until end as held_until, s.running, s.starts,
  t.tasks, coalesce(w.runs, 0)::int as waiting
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
cross join cronty.task_limits l
cross join lateral (
  select array_agg(t.name order by t.name) as tasks from cronty.tasks t where t.settings -> 'limits' ? l.name
) t
cross join lateral (
  select count(*) filter (where r.running)::int as running,
    count(*) filter (where s.started_at > n.now - interval '1 minute')::int as starts
  from cronty.starts s
  left join lateral (
    select r.state = 'running' and r.attempt = s.attempt as running from cronty.runs r
    where not s.ended and r.job_id = s.job_id and r.scheduled_for = s.scheduled_for
    limit 1
  ) r on true
  where s.limit_name = l.name
) s
left join lateral (
  select sum(q.runs) as runs
  from unnest(t.tasks) k(task)
  cross join lateral (
    select count(*) as runs from (
      select from cronty.queue q where q.task = k.task and q.due_at <= n.now limit 10000
    ) q
  ) q
) w on true
where t.tasks is not null
order by l.name
