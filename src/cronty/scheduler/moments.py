"""Reads a range of time from a request."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.decisions import refusal
from cronty.scheduler.scheduler import Scheduler
from cronty.timing import BadTrigger
from cronty.timing.errors import Unclear
from cronty.timing.rule import read_bound

_ENDS: Final = {"0001": datetime.min.replace(tzinfo=UTC), "9999": datetime.max.replace(tzinfo=UTC)}
"""Years that people write to mean "no bound"."""


@dataclass(frozen=True, slots=True)
class Span:
    """From `since` through `until`, both inclusive; None means no bound."""

    since: datetime | None
    until: datetime | None


async def read_span(scheduler: Scheduler, caller: Caller, since: str | None, until: str | None) -> Result[Span]:
    """A span from ISO 8601 or words; a date or a day alone is all of it, in the owner's zone."""
    if since is None and until is None:
        return Ok(Span(None, None))
    now, zone_name = await scheduler.clock(caller)
    try:
        return Ok(Span(_moment(since, zone_name, now, last=False), _moment(until, zone_name, now, last=True)))
    except Unclear as unclear:
        return refusal(unclear)
    except BadTrigger as bad:
        return Err("bad_time", bad.message, f"{bad.hint} A date such as 2027-01-31 means the whole day.")


def _moment(text: str | None, zone_name: str, now: datetime, *, last: bool) -> datetime | None:
    """The first instant the text covers, or the last; in the years 0001 and 9999, the end of the calendar."""
    if text is None:
        return None
    if text.strip()[:4] in _ENDS:
        return _ENDS[text.strip()[:4]]
    return read_bound(text, zone_name, now, last=last).astimezone(UTC)
