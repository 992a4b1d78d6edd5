-- The same as `next_due`, for jobs of urgent tasks alone; a test holds the two together.
select n.now, d.next_at, (select frozen_at is not null from cronty.server where only_row) as frozen
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
left join lateral (
  select next_at from cronty.due
  where urgent and next_at >= coalesce($2::timestamptz, '-infinity') and (zone is null or zone <> all($3::text[]))
  order by next_at
  limit 1
) d on true
