-- Seconds until the earliest waiting run that this worker can perform, or null; a second while the installation is frozen.
-- $1 now, $2 its tasks.
select case when (select frozen_at is null from cronty.server where only_row)
  then extract(epoch from min(q.due_at) - coalesce($1::timestamptz, statement_timestamp()))::float8
  else 1 end
from unnest($2::text[]) t(task)
cross join generate_series(0, 2) level
cross join lateral (
  select due_at from cronty.queue
  where task = t.task and crashes = level and due_at is not null
  order by due_at
  limit 1
) q
