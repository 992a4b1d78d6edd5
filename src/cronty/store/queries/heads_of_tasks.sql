-- The earliest waiting run of each of these tasks, by how often it has crashed its worker, and in how many seconds it is due.
-- None while the installation is frozen. $1 now, $2 tasks.
select t.task, level.crashes, extract(epoch from q.due_at - coalesce($1::timestamptz, statement_timestamp()))::float8 as seconds
from unnest($2::text[]) t(task)
cross join generate_series(0, 2) level(crashes)
cross join lateral (
  select due_at from cronty.queue
  where task = t.task and crashes = level.crashes and due_at is not null
  order by due_at
  limit 1
) q
where (select frozen_at is null from cronty.server where only_row)
order by q.due_at
