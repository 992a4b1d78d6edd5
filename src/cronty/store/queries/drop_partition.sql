-- Drop a week of history that is older than $2 seconds; whether there was one. $1 now.
select cronty.drop_run_partition(coalesce($1::timestamptz, statement_timestamp()) - $2::float8 * interval '1 second')
