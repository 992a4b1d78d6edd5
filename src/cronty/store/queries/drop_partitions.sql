-- Drop the weeks of history that are older than $2 seconds. $1 now.
select cronty.drop_run_partitions(coalesce($1::timestamptz, statement_timestamp()) - $2::float8 * interval '1 second')
