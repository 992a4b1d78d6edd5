-- The zones that jobs use, and whether a living worker has the zone database their rules are from, or a newer one. $1 now.
select z.name, z.rules, z.version, z.through is not null as moving, $1::timestamptz is not null as kept
from cronty.zones z
