"""The stretches of time during which a zone keeps one UTC offset.

Everything hard about cron and daylight saving time is here as two numbers. Within a stretch, local time is
UTC plus `offset`. Between two stretches local time jumps: forward over a gap, or back into an overlap. `seen`
is the local time that earlier stretches had reached. If it is less than the local time at which this stretch
begins, the difference is a gap; if it is more, local times up to `seen` come by for the second time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronty.timing.zones import zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
"""The shortest step of time: the moment before a slot is one of them earlier."""
DAY = 86_400
_EPOCH_DAY = EPOCH.toordinal()
# The shortest stretch in the database is 6.96 days (Recife 2000, Gaza from 2040), so this step finds all of
# them.
_STEP = 5 * DAY
# Python's calendar ends here; two days of room so that no local time falls outside of it.
EARLIEST = int((datetime(1, 1, 3, tzinfo=UTC) - EPOCH) / timedelta(seconds=1))
LATEST = int((datetime(9999, 12, 29, tzinfo=UTC) - EPOCH) / timedelta(seconds=1))


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` up to but without `end`, local time is UTC plus `offset`; seconds since the epoch."""

    start: int
    end: int
    offset: int
    seen: int


def forward(name: str, since: int, until: int) -> Iterator[Stretch]:
    """Yield the stretches of a zone that touch `since` through `until`, earliest first."""
    for year in range(_year(since), 10_000):
        for stretch in _stretches(name, year):
            if stretch.start > until:
                return
            if stretch.end > since:
                yield stretch


def backward(name: str, since: int, until: int) -> Iterator[Stretch]:
    """Yield the stretches of a zone that touch `since` through `until`, latest first."""
    for year in range(_year(until), 0, -1):
        for stretch in reversed(_stretches(name, year)):
            if stretch.end <= since:
                return
            if stretch.start <= until:
                yield stretch


def _year(seconds: int) -> int:
    return date.fromordinal(seconds // DAY + _EPOCH_DAY).year


def _offset(zoneinfo: ZoneInfo, seconds: int) -> int:
    offset = datetime.fromtimestamp(min(max(seconds, EARLIEST), LATEST), zoneinfo).utcoffset()
    assert offset is not None
    return offset.days * DAY + offset.seconds


@lru_cache(maxsize=8192)
def _stretches(name: str, year: int) -> tuple[Stretch, ...]:
    """Return one UTC year, cut at its ends.

    Looking starts a step early: a stretch that begins just before New Year may still be repeating local
    times.
    """
    zoneinfo = zone(name)
    begin, end = _new_year(year), _new_year(year + 1)
    start = begin - _STEP
    offset = _offset(zoneinfo, start)
    seen = start + offset
    found: list[Stretch] = []
    while start < end:
        change = _next_change(zoneinfo, start, offset, end)
        if change > begin:
            cut = max(start, begin)
            found.append(Stretch(cut, change, offset, seen if start >= begin else max(seen, cut + offset)))
        seen = max(seen, change + offset)
        start = change
        offset = _offset(zoneinfo, start)
    return tuple(found)


def _new_year(year: int) -> int:
    if year > 9999:
        return LATEST + DAY
    return (datetime(year, 1, 1, tzinfo=UTC) - EPOCH).days * DAY


def _next_change(zoneinfo: ZoneInfo, start: int, offset: int, limit: int) -> int:
    low = start
    while low < limit:
        high = min(low + _STEP, limit)
        if _offset(zoneinfo, high) != offset:
            break
        low = high
    else:
        return limit
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zoneinfo, middle) == offset:
            low = middle
        else:
            high = middle
    return high
