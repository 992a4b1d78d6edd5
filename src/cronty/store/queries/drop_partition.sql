-- Drop a week of history that is older than $2 seconds and got no verdict in the last $3; whether there was one. $1 now, $4
-- how long to wait for a lock. It is a transaction of its own: PostgreSQL commits it without another message, so a process
-- that is suspended meanwhile doesn't keep the lock.
select cronty.drop_run_partition(n.now - $2::float8 * interval '1 second', n.now - $3::float8 * interval '1 second')
from (select coalesce($1::timestamptz, statement_timestamp()) as now, set_config('lock_timeout', $4, true) as patience) n
where n.patience is not null -- so that it is set first
