-- Thaw the installation, and wake the engines; since when it was frozen, and why, or no row if it wasn't. In a restored copy it isn't known
-- what ntfy still has, so it is given everything again, under the same ids. $1 now.
with was as (
  select frozen_at, frozen_because from cronty.server where frozen_at is not null for update
), thawed as (
  update cronty.server s set frozen_at = null, frozen_because = null from was
), again as (
  update cronty.handed_over h set state = 'giving', handed_at = null, due_at = k.now
  from was, (select coalesce($1::timestamptz, statement_timestamp()) as now) k
  where h.state = 'held' and h.scheduled_for > k.now
)
select frozen_at, frozen_because, pg_notify('cronty', 'thaw')::text as told from was
