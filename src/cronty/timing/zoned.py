"""Triggers that go by the clocks on the wall of a zone, also on the days on which those change.

Debian's rule. A *fixed time* fires once for each time it is named: if the time is in a gap, at the first instant
after it; if it comes twice, the first time only. A trigger may ask for the opposite: `gap="skip"`, `overlap="both"`.
Anything else follows real minutes, whatever it asks for: nothing extra after a gap, and it keeps firing through an
overlap.
"""

from datetime import datetime, timedelta
from typing import ClassVar, Final, Literal, Protocol

from cronty.timing.errors import BadTrigger, shown
from cronty.timing.offsets import DAY, EARLIEST, EPOCH, LATEST, Stretch, backward, forward
from cronty.timing.wallclock import MAX_HOLE
from cronty.timing.zones import zone

type Gap = Literal["run_after", "skip"]
type Overlap = Literal["first", "both"]

_HORIZON: Final = MAX_HOLE * DAY
_MEMO_LIMIT: Final = 200_000
_SECOND: Final = timedelta(seconds=1)
# Local time is less than a day away from UTC, and what a change of the clocks moves is moved by a day at most.
_LEEWAY: Final = 2 * DAY


class Clock(Protocol):
    """Minutes of an unbroken local calendar, counted from 1970-01-01 00:00; ranges are half open."""

    @property
    def fixed(self) -> bool: ...
    def first(self, low: int, high: int) -> int | None: ...
    def last(self, low: int, high: int) -> int | None: ...
    def count(self, low: int, high: int) -> int: ...


class Slots(Protocol):
    """The slots of one rule in one zone; times are whole seconds since the epoch, ranges hold both their ends."""

    def first(self, low: int, high: int) -> int | None: ...
    def last(self, low: int, high: int) -> int | None: ...
    def count(self, low: int, high: int) -> int: ...
    def nominal(self, slot: int) -> int | None: ...


class ZonedClock:
    """One clock in one zone under one policy: `Slots`."""

    __slots__ = ("_clock", "_moves", "_once", "zone")

    def __init__(self, clock: Clock, zone_name: str, gap: Gap, overlap: Overlap) -> None:
        self._clock = clock
        self.zone = zone_name
        self._moves = clock.fixed and gap == "run_after"
        self._once = clock.fixed and overlap == "first"

    def first(self, low: int, high: int) -> int | None:
        for place, stretch in enumerate(forward(self.zone, low, high)):
            if self.fires_after_gap(stretch, low, high):
                return stretch.start
            minute = self._clock.first(*self.minutes(stretch, low, high))
            if minute is not None:
                return minute * 60 - stretch.offset
            if place == 1:
                return self._first_after_rest(stretch.end, high)
        return None

    def _first_after_rest(self, low: int, high: int) -> int | None:
        """Leap over the stretches without a named minute, of which there may be years."""
        minute = self._clock.first((low - _LEEWAY) // 60, (high + _LEEWAY) // 60)
        return None if minute is None else self.first(max(low, minute * 60 - _LEEWAY), high)

    def last(self, low: int, high: int) -> int | None:
        for stretch in backward(self.zone, low, high):
            minute = self._clock.last(*self.minutes(stretch, low, high))
            if minute is not None:
                return minute * 60 - stretch.offset
            if self.fires_after_gap(stretch, low, high):
                return stretch.start
        return None

    def count(self, low: int, high: int) -> int:
        total = 0
        for stretch in forward(self.zone, low, high):
            total += self._clock.count(*self.minutes(stretch, low, high))
            # The rule may also name the very minute at which the gap ends: still one slot.
            if self.fires_after_gap(stretch, low, high) and not names_start(self._clock, stretch):
                total += 1
        return total

    def nominal(self, slot: int) -> int | None:
        """Return the local minute from which a gap moved the slot; the first one, if it moved several."""
        for stretch in forward(self.zone, slot, slot):
            if stretch.start == slot and self._moves and not names_start(self._clock, stretch):
                return self._first_in_gap(stretch)
        return None

    def minutes(self, stretch: Stretch, low: int, high: int) -> tuple[int, int]:
        """Return the local minutes of a stretch that may fire and lie within `low` through `high`."""
        start = max(low, stretch.start) + stretch.offset
        if self._once and stretch.seen > start:
            start = stretch.seen
        end = min(high + 1, stretch.end) + stretch.offset
        return -(-start // 60), -(-end // 60)

    def fires_after_gap(self, stretch: Stretch, low: int, high: int) -> bool:
        if not self._moves or stretch.seen >= stretch.start + stretch.offset or not low <= stretch.start <= high:
            return False
        return self._first_in_gap(stretch) is not None

    def _first_in_gap(self, stretch: Stretch) -> int | None:
        return self._clock.first(-(-stretch.seen // 60), -(-(stretch.start + stretch.offset) // 60))


def names_start(clock: Clock, stretch: Stretch) -> bool:
    """Whether a clock names the very minute at which a stretch starts."""
    minute, second = divmod(stretch.start + stretch.offset, 60)
    return second == 0 and clock.first(minute, minute + 1) is not None


def check_policy(gap: object, overlap: object) -> None:
    if gap not in ("run_after", "skip"):
        raise BadTrigger(f"Unknown gap policy: {shown(gap)}", 'Use "run_after" or "skip".')
    if overlap not in ("first", "both"):
        raise BadTrigger(f"Unknown overlap policy: {shown(overlap)}", 'Use "first" or "both".')


_memo: dict[tuple[Slots, datetime], datetime | None] = {}


class Zoned:
    """What is asked of a trigger; a subclass is in `zone` and has its slots as `slots`."""

    __slots__: ClassVar[tuple[str, ...]] = ()
    zone: str
    slots: Slots

    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot strictly later than `moment`; None if there is none within 10 years."""
        key = (self.slots, moment)
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
        found = self.slots.last(low, high) if low <= high else None
        return None if found is None else EPOCH + timedelta(seconds=found)

    def count(self, since: datetime, until: datetime) -> int:
        """Return the number of slots from `since` through `until`."""
        low, high = _bounds(since, until)
        return self.slots.count(low, high) if low <= high else 0

    def _first_after(self, moment: datetime) -> datetime | None:
        low = max((moment - EPOCH) // _SECOND + 1, EARLIEST)
        high = min(low + _HORIZON, LATEST)
        found = self.slots.first(low, high) if low <= high else None
        return None if found is None else EPOCH + timedelta(seconds=found)


def nominal(trigger: Zoned, slot: datetime) -> datetime | None:
    """Return the local time that `trigger` names for `slot`, if a gap moved the slot away from it; else None.

    For "moved from 02:30 to 03:00". If the gap swallowed several named times, it is the first of them; a slot
    that is also named itself wasn't moved. No clock ever showed the time returned: print it, don't convert it.
    """
    second, fraction = divmod(slot - EPOCH, _SECOND)
    if fraction or not EARLIEST <= second <= LATEST:
        return None
    minute = trigger.slots.nominal(second)
    return None if minute is None else (EPOCH + timedelta(minutes=minute)).replace(tzinfo=zone(trigger.zone))


def _bounds(since: datetime, until: datetime) -> tuple[int, int]:
    """Return the whole seconds from `since` through `until`, within Python's calendar."""
    return max(-((EPOCH - since) // _SECOND), EARLIEST), min((until - EPOCH) // _SECOND, LATEST)
