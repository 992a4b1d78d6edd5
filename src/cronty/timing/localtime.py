"""From a time with an offset, or what a clock on the wall shows, to the instant in UTC."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from cronty.timing.errors import BadTrigger
from cronty.timing.offsets import DAY, EARLIEST, EPOCH, LATEST, forward

_SECOND = timedelta(seconds=1)
_FIRST = EPOCH + timedelta(seconds=EARLIEST)
_FINAL = EPOCH + timedelta(seconds=LATEST)


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
        raise out_of_range(local)
    passes: list[datetime] = []
    for stretch in forward(zone_name, seconds - 2 * DAY, seconds + 2 * DAY):
        if stretch.seen <= seconds < stretch.start + stretch.offset:
            return Instant(EPOCH + timedelta(seconds=stretch.start), gap=True)
        if stretch.start + stretch.offset <= seconds < stretch.end + stretch.offset:
            passes.append(EPOCH + timedelta(seconds=seconds - stretch.offset) + fraction)
    return Instant(passes[-1 if second_pass else 0], twice=len(passes) > 1)


def midnight(day: date, zone_name: str) -> datetime:
    """Return when a day begins; the end of the gap if clocks jump over midnight."""
    return instant_of(datetime(day.year, day.month, day.day), zone_name).at  # noqa: DTZ001


def as_utc(moment: datetime) -> datetime:
    """Return the same instant in UTC; a time without an offset is refused: nobody knows when it is.

    So is the very end of the calendar, which some zones' clocks could not show.
    """
    if moment.utcoffset() is None:
        raise BadTrigger(f"Time without offset: {moment.isoformat()}", "Add one, as in 2027-01-31T09:00:00+01:00.")
    try:
        found = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    except OverflowError:
        raise out_of_range(moment) from None
    if not _FIRST <= found <= _FINAL:
        raise out_of_range(moment)
    return found


def out_of_range(moment: datetime) -> BadTrigger:
    """What to say about a time at the ends of the calendar."""
    return BadTrigger(f"Time out of range: {moment.isoformat()}", "Name a time from the year 2 to 9998.")
