"""From what a clock on the wall shows to the instant, on days when clocks change too."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronty.timing.errors import BadTrigger
from cronty.timing.offsets import DAY, EARLIEST, EPOCH, LATEST, forward

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment in UTC; `gap` if no clock showed the local time, `twice` if clocks showed it two times."""

    at: datetime
    gap: bool = False
    twice: bool = False


def instant_of(local: datetime, zone_name: str, *, second_pass: bool = False) -> Instant:
    """Return when clocks show `local`, which has no offset; the end of the gap if they jump over it.

    If they show it twice it is the first time, or the second if asked.
    """
    seconds, fraction = divmod(local.replace(tzinfo=UTC) - EPOCH, _SECOND)
    if not EARLIEST + 2 * DAY <= seconds <= LATEST - 2 * DAY:
        raise BadTrigger(f"Time out of range: {local.isoformat()}", "Name a time from the year 2 to 9998.")
    passes: list[datetime] = []
    for stretch in forward(zone_name, seconds - 2 * DAY, seconds + 2 * DAY):
        if stretch.seen <= seconds < stretch.start + stretch.offset:
            return Instant(EPOCH + timedelta(seconds=stretch.start), gap=True)
        if stretch.start + stretch.offset <= seconds < stretch.end + stretch.offset:
            passes.append(EPOCH + timedelta(seconds=seconds - stretch.offset) + fraction)
    return Instant(passes[-1 if second_pass else 0], twice=len(passes) > 1)
