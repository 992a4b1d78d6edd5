-- The whole installation for Prometheus, each number counted up to $2. $1 the moment. The queue is read task by task with
-- its index, because it may be full of unread prompts and of retries that aren't due yet; of at most 1,000 tasks.
with recursive tasks(task, place) as (
  (select q.task, 1 from cronty.queue q where q.due_at is not null order by q.task limit 1)
  union all
  select (select q.task from cronty.queue q where q.due_at is not null and q.task > t.task order by q.task limit 1), t.place + 1
  from tasks t where t.task is not null and t.place < 1000
), kinds as (
  select t.task, c.crashes, case when t.task like 'prompt:%' then 'wake' when t.task = 'prompt' then 'inbox'
    when t.task in ('notify', 'webhook', 'command') then t.task else 'task' end as kind
  from tasks t cross join (values (0), (1), (2)) c(crashes)
  where t.task is not null
), waiting as (
  select k.*, w.oldest from kinds k
  cross join lateral (
    select q.due_at as oldest from cronty.queue q
    where q.task = k.task and q.crashes = k.crashes and q.due_at <= coalesce($1::timestamptz, statement_timestamp())
    order by q.due_at limit 1
  ) w
), queued as (
  -- Each kind up to $2 and not each task: there may be many tasks, each with many runs.
  select w.kind, min(w.oldest) as oldest, (
    select count(*) from (
      select from waiting o
      cross join lateral (
        select from cronty.queue q
        where q.task = o.task and q.crashes = o.crashes and q.due_at <= coalesce($1::timestamptz, statement_timestamp())
        limit $2
      ) r
      where o.kind = w.kind
      limit $2
    ) r
  ) as runs
  from waiting w
  group by w.kind
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
