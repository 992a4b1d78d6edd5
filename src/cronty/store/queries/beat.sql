-- Renew this worker's lease. Until the worker is struck off, its runs are its own, however late this comes. $2 worker,
-- $3 seconds. Returns the time, the time of the heartbeat before, and the epoch.
update cronty.workers w
set beat_at = n.now, lease_until = n.now + $3::float8 * interval '1 second'
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n, (select beat_at from cronty.workers where id = $2) o
where w.id = $2
returning n.now, o.beat_at as before, cronty.epoch() as epoch
