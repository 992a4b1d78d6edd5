-- Thaw the installation, and wake the engines; since when it was frozen, and why, or no row if it wasn't.
with was as (
  select frozen_at, frozen_because from cronty.server where frozen_at is not null for update
), thawed as (
  update cronty.server s set frozen_at = null, frozen_because = null from was
)
select frozen_at, frozen_because, pg_notify('cronty', 'thaw')::text as told from was
