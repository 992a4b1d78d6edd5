-- The zones that jobs use, and whether a live worker has the tzdata version of their rules, or a newer one. $1 now.
select z.name, z.rules, z.version, z.through is not null as moving, exists (
    select from cronty.workers w
    where w.tzdata collate "C" >= z.version collate "C" and w.lease_until >= coalesce($1::timestamptz, statement_timestamp())
  ) as kept
from cronty.zones z
