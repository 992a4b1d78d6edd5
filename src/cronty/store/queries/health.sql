-- What `cronty doctor` asks.
select current_setting('server_version_num')::int as version_number, current_setting('server_version') as version,
  statement_timestamp() as now,
  (select count(*) from cronty.workers where lease_until >= statement_timestamp()) as workers,
  (select count(*) from cronty.workers where lease_until < statement_timestamp() - interval '15 seconds') as dead_workers,
  (select array_agg(distinct tzdata) from cronty.workers where lease_until >= statement_timestamp()) as tzdata,
  (select min(next_at) from cronty.due where next_at < statement_timestamp()) as oldest_overdue,
  (select count(*) from cronty.queue where task <> 'prompt' and due_at < statement_timestamp() - interval '30 seconds') as stale_queue,
  (select array_agg(distinct task) from cronty.queue q where task <> 'prompt' and due_at < statement_timestamp() - interval '30 seconds') as stale_tasks,
  (select count(*) from cronty.jobs where state = 'set_aside' and deleted_at is null) as set_aside,
  (select relrowsecurity from pg_class where oid = 'cronty.jobs'::regclass) as walled,
  pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as read_only
