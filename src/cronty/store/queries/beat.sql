-- Renew this worker's lease. As long as it is listed nobody has taken its runs, however late it comes.
update cronty.workers w
set beat_at = n.now, lease_until = n.now + $3::float8 * interval '1 second'
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
where w.id = $2
returning w.id
