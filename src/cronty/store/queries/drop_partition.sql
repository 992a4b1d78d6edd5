-- Drop a week of history that is older than $2 seconds and got no verdict in the last $3; whether there was one. $1 now.
select cronty.drop_run_partition(n.now - $2::float8 * interval '1 second', n.now - $3::float8 * interval '1 second')
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
