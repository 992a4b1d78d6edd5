-- The whole installation for Prometheus, each number counted up to $2. $1 the moment. The queue is read task by task with
-- its index, because it may be full of unread prompts and of retries that aren't due yet; of at most 1,000 tasks.
with recursive tasks(task, place) as (
  (select q.task, 1 from cronty.queue q where q.due_at is not null order by q.task limit 1)
  union all
  select (select q.task from cronty.queue q where q.due_at is not null and q.task > t.task order by q.task limit 1), t.place + 1
  from tasks t where t.task is not null and t.place < 1000
), queued as (
  select case when t.task like 'prompt:%' then 'wake' when t.task = 'prompt' then 'inbox'
      when t.task in ('notify', 'webhook', 'command') then t.task else 'task' end as kind,
    least($2::bigint, sum(w.runs)::bigint) as runs, min(w.oldest) as oldest
  from tasks t
  cross join (values (0), (1), (2)) c(crashes)
  cross join lateral (
    select count(*) as runs, min(w.due_at) as oldest from (
      select q.due_at from cronty.queue q
      where q.task = t.task and q.crashes = c.crashes and q.due_at <= coalesce($1::timestamptz, statement_timestamp())
      order by q.due_at limit $2
    ) w
  ) w
  where w.runs > 0
  group by 1
)
select n.now,
  (select count(*) from cronty.workers where lease_until >= n.now)::int as workers,
  (select count(*) from cronty.workers where lease_until < n.now)::int as lost_workers,
  (select count(*) from (select from cronty.runs r where r.state = 'running' limit $2) r)::int as running,
  (select count(*) from (select from cronty.due d where d.next_at < n.now - interval '1 second' limit $2) d)::int as overdue,
  (select extract(epoch from n.now - min(d.next_at))::float8 from cronty.due d
   where d.next_at < n.now - interval '1 second') as oldest_overdue,
  (select count(*) from (select from cronty.jobs where state = 'set_aside' and deleted_at is null limit $2) j)::int as set_aside,
  (select frozen_at from cronty.server where only_row) as frozen_at, (select frozen_because from cronty.server where only_row) as frozen_because,
  (select coalesce(json_agg(json_build_array(kind, runs, extract(epoch from n.now - oldest)::float8)), '[]') from queued)::text
    as queued
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
