-- Renew this worker's lease. As long as it is listed, its runs are its own, however late it comes. $2 worker, $3 seconds.
-- Answers when, when the heartbeat before it was, and on which timeline.
update cronty.workers w
set beat_at = n.now, lease_until = n.now + $3::float8 * interval '1 second'
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n, (select beat_at from cronty.workers where id = $2) o
where w.id = $2
returning n.now, o.beat_at as before, cronty.epoch() as epoch
