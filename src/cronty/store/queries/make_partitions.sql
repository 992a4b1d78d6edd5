-- Create the partitions of the weeks around now and of these slots, and of the trail for this month and the next.
-- $1 now, $2 slots.
select count(*) filter (where cronty.make_run_partition(monday)),
  cronty.make_audit_partition(coalesce($1::timestamptz, statement_timestamp())),
  cronty.make_audit_partition(coalesce($1::timestamptz, statement_timestamp()) + interval '1 month')
from (
  select generate_series(
    date_trunc('week', coalesce($1::timestamptz, statement_timestamp()), 'UTC') - interval '7 days',
    date_trunc('week', coalesce($1::timestamptz, statement_timestamp()), 'UTC') + interval '14 days',
    interval '7 days') as monday
  union
  select date_trunc('week', slot, 'UTC') from unnest($2::timestamptz[]) slot
) weeks
