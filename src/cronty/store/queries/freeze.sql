-- Freeze the installation; one that is frozen stays so since the first time. $1 now, $2 why.
update cronty.server
set frozen_at = coalesce(frozen_at, $1::timestamptz, statement_timestamp()), frozen_because = $2
returning frozen_at, frozen_because
