-- What `cronty doctor` asks.
select current_setting('server_version_num')::int as version_number, current_setting('server_version') as version,
  statement_timestamp() as now,
  (select count(*) from cronty.workers where lease_until >= statement_timestamp()) as workers,
  (select count(*) from cronty.workers where lease_until < statement_timestamp() - interval '1 minute') as dead_workers,
  (select array_agg(distinct tzdata) from cronty.workers where lease_until >= statement_timestamp()) as tzdata,
  (select min(next_at) from cronty.due where next_at < statement_timestamp()) as oldest_overdue,
  (select count(*) from cronty.queue where task <> 'prompt' and due_at < statement_timestamp() - interval '1 minute') as stale_queue,
  (select array_agg(distinct task) from cronty.queue q where task <> 'prompt' and due_at < statement_timestamp() - interval '1 minute') as stale_tasks,
  (select count(*) from cronty.jobs where state = 'set_aside' and deleted_at is null) as set_aside,
  (select relrowsecurity from pg_class where oid = 'cronty.jobs'::regclass) as walled
