-- The latest workers, and how many runs each has running, of the first 100,000 running runs. $1 now.
select w.id, w.name, w.version, w.tzdata, w.concurrency, w.started_at, w.beat_at, w.lease_until, n.now <= w.lease_until as alive,
  coalesce(h.runs, 0) as running
from cronty.workers w
cross join (select coalesce($1::timestamptz, statement_timestamp()) as now) n
left join (
  select r.worker, count(*) as runs from (select r.worker from cronty.runs r where r.state = 'running' limit 100000) r
  group by r.worker
) h on h.worker = w.id
order by alive desc, w.started_at desc
limit 100
