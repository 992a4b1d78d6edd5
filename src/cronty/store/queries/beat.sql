-- Renew this worker's lease, unless it has passed: then others may have its runs already.
update cronty.workers w
set beat_at = n.now, lease_until = n.now + $3::float8 * interval '1 second'
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
where w.id = $2 and w.lease_until >= n.now
returning w.id
