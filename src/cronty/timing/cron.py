"""A trigger that fires when a clock on the wall of some zone shows the minutes of a cron expression.

It is a fixed time on days on which clocks change if neither its minute nor its hour begins with `*`.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from cronty.timing.wallclock import Wallclock
from cronty.timing.zoned import Gap, Overlap, Slots, Zoned, ZonedClock, check_policy
from cronty.timing.zones import zone

_wallclock = lru_cache(maxsize=16_384)(Wallclock)


@lru_cache(maxsize=16_384)
def _compiled(expression: str, zone_name: str, gap: Gap, overlap: Overlap) -> Slots:
    return ZonedClock(_wallclock(expression), zone_name, gap, overlap)


@dataclass(frozen=True, slots=True)
class Cron(Zoned):
    """Fires at the minutes that `expression` names on the clocks of `zone`.

    Five fields or a nickname such as `@daily`. If day-of-month and day-of-week are both restricted, either
    one is enough; a field that begins with `*` is unrestricted. An old zone name becomes the current one.

    `gap` and `overlap` say what becomes of a time that the clocks jump over or show twice. They have no effect
    if minute or hour begins with `*`: such a job follows real minutes.
    """

    expression: str
    zone: str = "UTC"
    gap: Gap = "run_after"
    overlap: Overlap = "first"
    slots: Slots = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_policy(self.gap, self.overlap)
        zone_name = zone(self.zone).key
        if zone_name != self.zone:
            object.__setattr__(self, "zone", zone_name)
        object.__setattr__(self, "slots", _compiled(self.expression, zone_name, self.gap, self.overlap))
