-- The whole installation in numbers, each counted up to $2. $1 the moment. The queue is read
-- task by task with the index, because it may be full of unread prompts.
with recursive tasks(task) as (
  (select q.task from cronty.queue q where q.due_at is not null order by q.task limit 1)
  union all
  select (select q.task from cronty.queue q where q.due_at is not null and q.task > t.task order by q.task limit 1)
  from tasks t where t.task is not null
)
select n.now,
  least($2::bigint, coalesce((
    select sum(w.runs) from tasks t
    cross join lateral (
      select count(*) as runs from (select from cronty.queue q where q.task = t.task and q.due_at is not null limit $2) w
    ) w
    where t.task <> 'prompt'), 0)::bigint
    + (select count(*) from (select q.task from cronty.queue q where q.due_at is null limit $2) l where l.task <> 'prompt')
  )::int as waiting,
  (select count(*) from (select from cronty.runs r where r.state = 'running' limit $2) r) as running,
  (select count(*) from (select from cronty.due d where d.next_at < n.now - interval '1 second' limit $2) d) as overdue,
  (select min(d.next_at) from cronty.due d where d.next_at < n.now - interval '1 second') as oldest_overdue,
  (select frozen_at from cronty.server where only_row) as frozen_at,
  (select frozen_because from cronty.server where only_row) as frozen_because
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
