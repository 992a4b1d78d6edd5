-- The time, if there is a channel that gets notifications ahead of their time or something to take back, and the installation isn't
-- frozen; else null. $1 now.
select coalesce($1::timestamptz, statement_timestamp())
from cronty.server
where only_row and frozen_at is null
  and (exists (select from cronty.channels where ahead and sealed is not null) or exists (select from cronty.handed_over))
