"""Reads a range of time from a request."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.scheduler import Scheduler
from cronty.timing import BadTrigger
from cronty.timing.reading import read_moment

_ENDS: Final = {"0001": datetime.min.replace(tzinfo=UTC), "9999": datetime.max.replace(tzinfo=UTC)}
"""Years that people write to mean "no bound"."""


@dataclass(frozen=True, slots=True)
class Span:
    """From `since` through `until`, both inclusive; None means no bound."""

    since: datetime | None
    until: datetime | None


async def read_span(scheduler: Scheduler, caller: Caller, since: str | None, until: str | None) -> Result[Span]:
    """A span from ISO 8601 texts; a date alone is the whole day, in the owner's zone."""
    if since is None and until is None:
        return Ok(Span(None, None))
    _, zone_name = await scheduler.clock(caller)
    try:
        return Ok(Span(_moment(since, zone_name, last=False), _moment(until, zone_name, last=True)))
    except BadTrigger as bad:
        return Err("bad_time", bad.message, f"{bad.hint} A date such as 2027-01-31 means the whole day.")


def _moment(text: str | None, zone_name: str, *, last: bool) -> datetime | None:
    """The first instant the text covers, or the last; in the years 0001 and 9999, the end of the calendar."""
    if text is None:
        return None
    try:
        day = date.fromisoformat(text.strip()) if last else None
    except ValueError:
        day = None
    if text.strip()[:4] in _ENDS:
        return _ENDS[text.strip()[:4]]
    if day is None:
        return read_moment(text.strip(), zone_name).astimezone(UTC)
    midnight = datetime.combine(day, time()) + timedelta(days=1)
    return read_moment(midnight, zone_name).astimezone(UTC) - timedelta(microseconds=1)
