-- The state of the database for `cronty doctor`; large counts stop at 10,000.
with recursive tasks(task) as (
  (select q.task from cronty.queue q where q.due_at is not null order by q.task limit 1)
  union all
  select (select q.task from cronty.queue q where q.due_at is not null and q.task > t.task order by q.task limit 1)
  from tasks t where t.task is not null
), stale as materialized (
  select t.task, s.runs from tasks t
  cross join lateral (
    select count(*) as runs from (
      select from cronty.queue q where q.task = t.task and q.due_at < statement_timestamp() - interval '30 seconds' limit 10000
    ) q
  ) s
  where t.task <> 'prompt' and s.runs > 0
    -- what is under a limit waits for that
    and not exists (select from cronty.tasks k where k.name = t.task and k.settings ? 'limits')
)
select current_setting('server_version_num')::int as version_number, current_setting('server_version') as version,
  statement_timestamp() as now,
  (select count(*) from cronty.workers where lease_until >= statement_timestamp()) as workers,
  (select count(*) from cronty.workers where lease_until < statement_timestamp() - interval '15 seconds') as dead_workers,
  (select array_agg(distinct tzdata) from cronty.workers where lease_until >= statement_timestamp()) as tzdata,
  (select min(next_at) from cronty.due where next_at < statement_timestamp()) as oldest_overdue,
  (select coalesce(sum(runs), 0)::int from stale) as stale_queue,
  (select array_agg(task) from stale) as stale_tasks,
  (select count(*) from (select from cronty.jobs where state = 'set_aside' and deleted_at is null limit 10000) j) as set_aside,
  (select frozen_at from cronty.server where only_row) as frozen_at, (select frozen_because from cronty.server where only_row) as frozen_because,
  (select count(*) from pg_inherits where inhparent = 'cronty.runs'::regclass)::int as weeks,
  (select count(*) from pg_stat_activity where application_name like 'cronty %')::int as connections,
  current_setting('max_locks_per_transaction')::int as locks_each, current_setting('max_connections')::int as max_connections,
  pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as read_only
