"""A trigger that fires when a clock on the wall of some zone shows certain minutes.

Debian's rule for the days on which clocks change. A *fixed-time* expression (neither minute nor hour begins
with `*`) fires once per named time: if the time is in a gap, at the first instant after it; if it comes
twice, the first time only. Any other expression follows real minutes: nothing extra after a gap, and it keeps
firing through an overlap.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from cronty.timing.offsets import DAY, EARLIEST, EPOCH, LATEST, Stretch, backward, forward
from cronty.timing.wallclock import LONGEST_HOLE, Wallclock
from cronty.timing.zones import zone

_HORIZON = LONGEST_HOLE * DAY
_MEMO_LIMIT = 200_000
_SECOND = timedelta(seconds=1)


class _Rule:
    """One expression in one zone; times are whole seconds since the epoch."""

    __slots__ = ("_clock", "_zone")

    def __init__(self, expression: str, zone_name: str) -> None:
        self._clock = Wallclock(expression)
        self._zone = zone_name

    def first(self, low: int, high: int) -> int | None:
        for stretch in forward(self._zone, low, high):
            if self._fires_after_gap(stretch, low, high):
                return stretch.start
            minute = self._clock.first(*self._minutes(stretch, low, high))
            if minute is not None:
                return minute * 60 - stretch.offset
        return None

    def last(self, low: int, high: int) -> int | None:
        for stretch in backward(self._zone, low, high):
            minute = self._clock.last(*self._minutes(stretch, low, high))
            if minute is not None:
                return minute * 60 - stretch.offset
            if self._fires_after_gap(stretch, low, high):
                return stretch.start
        return None

    def count(self, low: int, high: int) -> int:
        total = 0
        for stretch in forward(self._zone, low, high):
            total += self._clock.count(*self._minutes(stretch, low, high))
            if self._fires_after_gap(stretch, low, high):
                # The expression may also name the very minute at which the gap ends: still one slot.
                start = stretch.start + stretch.offset
                named = start % 60 == 0 and self._clock.count(start // 60, start // 60 + 1) == 1
                total += not named
        return total

    def _minutes(self, stretch: Stretch, low: int, high: int) -> tuple[int, int]:
        """Return the local minutes of a stretch that may fire and lie within `low` through `high`."""
        start = max(low, stretch.start) + stretch.offset
        if self._clock.fixed and stretch.seen > start:
            start = stretch.seen
        end = min(high + 1, stretch.end) + stretch.offset
        return -(-start // 60), -(-end // 60)

    def _fires_after_gap(self, stretch: Stretch, low: int, high: int) -> bool:
        start = stretch.start + stretch.offset
        if stretch.seen >= start or not self._clock.fixed or not low <= stretch.start <= high:
            return False
        return self._clock.first(-(-stretch.seen // 60), -(-start // 60)) is not None


@lru_cache(maxsize=16_384)
def _compiled(expression: str, zone_name: str) -> _Rule:
    return _Rule(expression, zone_name)


_memo: dict[tuple[_Rule, datetime], datetime | None] = {}


@dataclass(frozen=True, slots=True)
class Cron:
    """Fires at the minutes that `expression` names on the clocks of `zone`.

    Five fields or a nickname such as `@daily`. If day-of-month and day-of-week are both restricted, either
    one is enough; a field that begins with `*` is unrestricted. An old zone name becomes the current one.
    """

    expression: str
    zone: str = "UTC"
    _rule: _Rule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        zone_name = zone(self.zone).key
        if zone_name != self.zone:
            object.__setattr__(self, "zone", zone_name)
        object.__setattr__(self, "_rule", _compiled(self.expression, zone_name))

    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot strictly later than `moment`; None if there is none within 10 years."""
        key = (self._rule, moment)
        try:
            return _memo[key]
        except KeyError:
            pass
        found = self._first_after(moment)
        # Only moments on the second are likely to be asked about again: they are slots.
        if not moment.microsecond:
            if len(_memo) >= _MEMO_LIMIT:
                _memo.clear()
            _memo[key] = found
        return found

    def last(self, since: datetime, until: datetime) -> datetime | None:
        """Return the latest slot from `since` through `until`."""
        low, high = _bounds(since, until)
        found = self._rule.last(low, high) if low <= high else None
        return None if found is None else EPOCH + timedelta(seconds=found)

    def count(self, since: datetime, until: datetime) -> int:
        """Return the number of slots from `since` through `until`."""
        low, high = _bounds(since, until)
        return self._rule.count(low, high) if low <= high else 0

    def _first_after(self, moment: datetime) -> datetime | None:
        low = max((moment - EPOCH) // _SECOND + 1, EARLIEST)
        high = min(low + _HORIZON, LATEST)
        found = self._rule.first(low, high) if low <= high else None
        return None if found is None else EPOCH + timedelta(seconds=found)


def _bounds(since: datetime, until: datetime) -> tuple[int, int]:
    """Return the whole seconds from `since` through `until`, within Python's calendar."""
    return max(-((EPOCH - since) // _SECOND), EARLIEST), min((until - EPOCH) // _SECOND, LATEST)
