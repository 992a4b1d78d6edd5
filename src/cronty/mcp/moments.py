"""Moments and spans of time in the words of a caller."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cronty.jobs.result import Err, Ok, Result
from cronty.mcp.desk import Desk
from cronty.timing import BadTrigger
from cronty.timing.reading import read_moment

_DATE_LENGTH = len("2027-01-31")


@dataclass(frozen=True, slots=True)
class Span:
    """From `since` through `until`, both inclusive; None means no bound."""

    since: datetime | None
    until: datetime | None


async def read_span(desk: Desk, since: str | None, until: str | None) -> Result[Span]:
    """A span as ISO 8601 says it; a date alone is the whole day, in the owner's zone."""
    if since is None and until is None:
        return Ok(Span(None, None))
    _, zone_name = await desk.door.clock(desk.owner)
    try:
        return Ok(Span(_moment(since, zone_name, last=False), _moment(until, zone_name, last=True)))
    except BadTrigger as bad:
        return Err("bad_time", bad.message, f"{bad.hint} A date such as 2027-01-31 means the whole day.")


def _moment(text: str | None, zone_name: str, *, last: bool) -> datetime | None:
    if text is None:
        return None
    moment = read_moment(text, zone_name)
    if not last or len(text.strip()) != _DATE_LENGTH:
        return moment
    next_day = datetime.fromisoformat(text.strip()) + timedelta(days=1)
    return read_moment(next_day, zone_name) - timedelta(microseconds=1)
