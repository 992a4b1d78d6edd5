-- Since when the installation is frozen, and why; no row if it isn't.
select frozen_at, frozen_because from cronty.server where frozen_at is not null
