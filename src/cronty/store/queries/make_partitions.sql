-- The weeks around now have their partition. $1 now.
select count(*) filter (where cronty.make_run_partition(monday))
from generate_series(
  date_trunc('week', coalesce($1::timestamptz, statement_timestamp()), 'UTC') - interval '7 days',
  date_trunc('week', coalesce($1::timestamptz, statement_timestamp()), 'UTC') + interval '14 days',
  interval '7 days') monday
