"""A trigger that fires when a clock on the wall of some zone shows certain minutes.

Debian's rule for the days on which clocks change. A *fixed-time* expression (neither minute nor hour begins
with `*`) fires once per named time: if the time is in a gap, at the first instant after it; if it comes
twice, the first time only. A trigger may ask for the opposite: `gap="skip"`, `overlap="both"`. Any other
expression follows real minutes, whatever it asks for: nothing extra after a gap, and it keeps firing through
an overlap.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal

from cronty.timing.errors import BadTrigger, shown
from cronty.timing.offsets import DAY, EARLIEST, EPOCH, LATEST, Stretch, backward, forward
from cronty.timing.wallclock import LONGEST_HOLE, Wallclock
from cronty.timing.zones import zone

type Gap = Literal["run_after", "skip"]
type Overlap = Literal["first", "both"]

_HORIZON = LONGEST_HOLE * DAY
_MEMO_LIMIT = 200_000
_SECOND = timedelta(seconds=1)


class _Rule:
    """One expression in one zone under one policy; times are whole seconds since the epoch."""

    __slots__ = ("_clock", "_moves", "_once", "_zone")

    def __init__(self, expression: str, zone_name: str, gap: Gap, overlap: Overlap) -> None:
        self._clock = _wallclock(expression)
        self._zone = zone_name
        self._moves = self._clock.fixed and gap == "run_after"
        self._once = self._clock.fixed and overlap == "first"

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
            # The expression may also name the very minute at which the gap ends: still one slot.
            if self._fires_after_gap(stretch, low, high) and not self._names_start(stretch):
                total += 1
        return total

    def nominal(self, slot: int) -> int | None:
        """Return the local minute from which a gap moved the slot; the first one, if it moved several."""
        for stretch in forward(self._zone, slot, slot):
            if stretch.start == slot and self._moves and not self._names_start(stretch):
                return self._first_in_gap(stretch)
        return None

    def _minutes(self, stretch: Stretch, low: int, high: int) -> tuple[int, int]:
        """Return the local minutes of a stretch that may fire and lie within `low` through `high`."""
        start = max(low, stretch.start) + stretch.offset
        if self._once and stretch.seen > start:
            start = stretch.seen
        end = min(high + 1, stretch.end) + stretch.offset
        return -(-start // 60), -(-end // 60)

    def _fires_after_gap(self, stretch: Stretch, low: int, high: int) -> bool:
        if not self._moves or stretch.seen >= stretch.start + stretch.offset or not low <= stretch.start <= high:
            return False
        return self._first_in_gap(stretch) is not None

    def _first_in_gap(self, stretch: Stretch) -> int | None:
        return self._clock.first(-(-stretch.seen // 60), -(-(stretch.start + stretch.offset) // 60))

    def _names_start(self, stretch: Stretch) -> bool:
        minute, second = divmod(stretch.start + stretch.offset, 60)
        return second == 0 and self._clock.first(minute, minute + 1) is not None


_wallclock = lru_cache(maxsize=16_384)(Wallclock)


@lru_cache(maxsize=16_384)
def _compiled(expression: str, zone_name: str, gap: Gap, overlap: Overlap) -> _Rule:
    return _Rule(expression, zone_name, gap, overlap)


_memo: dict[tuple[_Rule, datetime], datetime | None] = {}


@dataclass(frozen=True, slots=True)
class Cron:
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
    _rule: _Rule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.gap not in ("run_after", "skip"):
            raise BadTrigger(f"Unknown gap policy: {shown(self.gap)}", 'Use "run_after" or "skip".')
        if self.overlap not in ("first", "both"):
            raise BadTrigger(f"Unknown overlap policy: {shown(self.overlap)}", 'Use "first" or "both".')
        zone_name = zone(self.zone).key
        if zone_name != self.zone:
            object.__setattr__(self, "zone", zone_name)
        object.__setattr__(self, "_rule", _compiled(self.expression, zone_name, self.gap, self.overlap))

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


def nominal(cron: Cron, slot: datetime) -> datetime | None:
    """Return the local time that `cron` names for `slot`, if a gap moved the slot away from it; else None.

    For "moved from 02:30 to 03:00". If the gap swallowed several named times, it is the first of them; a slot
    that is also named itself wasn't moved. No clock ever showed the time returned: print it, don't convert it.
    """
    second, fraction = divmod(slot - EPOCH, _SECOND)
    if fraction or not EARLIEST <= second <= LATEST:
        return None
    minute = _compiled(cron.expression, cron.zone, cron.gap, cron.overlap).nominal(second)
    return None if minute is None else (EPOCH + timedelta(minutes=minute)).replace(tzinfo=zone(cron.zone))


def _bounds(since: datetime, until: datetime) -> tuple[int, int]:
    """Return the whole seconds from `since` through `until`, within Python's calendar."""
    return max(-((EPOCH - since) // _SECOND), EARLIEST), min((until - EPOCH) // _SECOND, LATEST)
