-- The whole installation in numbers. $1 the moment.
select n.now,
  (select count(*) from cronty.queue q where q.task <> 'prompt') as waiting,
  (select count(*) from cronty.runs r where r.state = 'running') as running,
  (select count(*) from cronty.due d where d.next_at < n.now - interval '1 second') as overdue,
  (select min(d.next_at) from cronty.due d where d.next_at < n.now - interval '1 second') as oldest_overdue
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
