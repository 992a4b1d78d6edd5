"""From what a clock on the wall shows to the instant, on days when clocks change too."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from cronty.timing.errors import BadTrigger
from cronty.timing.offsets import DAY, EARLIEST, EPOCH, LATEST, Stretch, forward

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment in UTC; `gap` if no clock showed the local time, `twice` if clocks showed it two times."""

    at: datetime
    gap: bool = False
    twice: bool = False


def instant(day: date, since_midnight: timedelta, zone_name: str, *, second_pass: bool = False) -> Instant:
    """Return when clocks show this: the first instant after a gap, the first of two passes or the second if asked."""
    try:
        local = datetime(day.year, day.month, day.day, tzinfo=EPOCH.tzinfo) + since_midnight
    except OverflowError:
        raise too_far() from None
    seconds, fraction = divmod(local - EPOCH, _SECOND)
    if not EARLIEST + 2 * DAY <= seconds <= LATEST - 2 * DAY:
        raise too_far()
    passes: list[datetime] = []
    for stretch in forward(zone_name, seconds - 2 * DAY, seconds + 2 * DAY):
        if stretch.seen <= seconds < stretch.start + stretch.offset:
            return Instant(_utc(stretch.start, timedelta(0)), gap=True)
        if _shows(stretch, seconds):
            passes.append(_utc(seconds - stretch.offset, fraction))
    return Instant(passes[-1 if second_pass else 0], twice=len(passes) > 1)


def too_far() -> BadTrigger:
    """What to say about a date beyond the calendar."""
    return BadTrigger("Can't schedule beyond the year 9999", "Name a nearer date.")


def _shows(stretch: Stretch, seconds: int) -> bool:
    return stretch.start + stretch.offset <= seconds < stretch.end + stretch.offset


def _utc(seconds: int, fraction: timedelta) -> datetime:
    return EPOCH + timedelta(seconds=seconds) + fraction
