-- The earliest slot, or null, and whether the installation is frozen. $1 now, $2 no slot is before this, $3 zones to leave out.
select n.now, d.next_at, (select frozen_at is not null from cronty.server where only_row) as frozen
from (select coalesce($1::timestamptz, statement_timestamp()) as now) n
left join lateral (
  select next_at from cronty.due
  where next_at >= coalesce($2::timestamptz, '-infinity') and (zone is null or zone <> all($3::text[]))
  order by next_at
  limit 1
) d on true
