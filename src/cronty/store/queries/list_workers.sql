select w.id, w.name, w.version, w.tzdata, w.concurrency, w.started_at, w.beat_at, w.lease_until, n.now <= w.lease_until as alive,
  (select count(*) from cronty.runs r where r.state = 'running' and r.worker = w.id) as running
from cronty.workers w
cross join (select coalesce($1::timestamptz, statement_timestamp()) as now) n
order by alive desc, w.started_at desc
limit 100
