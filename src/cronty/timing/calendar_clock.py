"""Which minutes of an unbroken local calendar the rules of a calendar name, as a wall clock does for cron.

The minutes of a day are bits of an integer, too. Fixed times and spans do different things when clocks change, so they
are two clocks; `MixedSlots` puts their slots together again.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

from cronty.timing.calendar_days import ByMonth, RuleDays, bits, first_and_length, month_of
from cronty.timing.calendar_rule import MINUTES, Span
from cronty.timing.offsets import forward
from cronty.timing.zoned import Gap, Overlap, ZonedClock, names_start

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
# Python's calendar ends there; days are moved by up to a month.
_ROOM: Final = timedelta(days=70)


class CalendarClock:
    """The minutes of some days: `Clock`."""

    __slots__ = ("_end", "_months", "_rules", "_start", "fixed")

    def __init__(
        self, rules: Iterable[tuple[RuleDays, int]], starts: date | None, ends: date | None, *, fixed: bool
    ) -> None:
        self._rules = tuple(rules)
        self._months = ByMonth(self._month)
        self.fixed = fixed
        self._start = (max(starts or date.min, date.min + _ROOM).toordinal() - _EPOCH_DAY) * MINUTES
        self._end = (min(ends or date.max, date.max - _ROOM).toordinal() + 1 - _EPOCH_DAY) * MINUTES

    def __bool__(self) -> bool:
        return bool(self._rules)

    def first(self, low: int, high: int) -> int | None:
        """Return the first named minute in the range."""
        low, high = max(low, self._start), min(high, self._end)
        if low >= high:
            return None
        day, minute = divmod(low, MINUTES)
        minutes = self._minutes_of(day) >> minute << minute
        if not minutes:
            next_day = self._next_day(day + 1, (high - 1) // MINUTES)
            if next_day is None:
                return None
            day, minutes = next_day, self._minutes_of(next_day)
        found = day * MINUTES + (minutes & -minutes).bit_length() - 1
        return found if found < high else None

    def last(self, low: int, high: int) -> int | None:
        """Return the last named minute in the range."""
        low, high = max(low, self._start), min(high, self._end)
        if low >= high:
            return None
        day, minute = divmod(high - 1, MINUTES)
        minutes = self._minutes_of(day) & (2 << minute) - 1
        if not minutes:
            previous_day = self._previous_day(day - 1, low // MINUTES)
            if previous_day is None:
                return None
            day, minutes = previous_day, self._minutes_of(previous_day)
        found = day * MINUTES + minutes.bit_length() - 1
        return found if found >= low else None

    def count(self, low: int, high: int) -> int:
        """Return the number of named minutes in the range."""
        low, high = max(low, self._start), min(high, self._end)
        if low >= high:
            return 0
        first_day, first_minute = divmod(low, MINUTES)
        final_day, final_minute = divmod(high, MINUTES)
        total = self._count_days(first_day, final_day)
        if first_minute:
            total -= (self._minutes_of(first_day) & (1 << first_minute) - 1).bit_count()
        if final_minute:
            total += (self._minutes_of(final_day) & (1 << final_minute) - 1).bit_count()
        return total

    def _minutes_of(self, day: int) -> int:
        there = date.fromordinal(day + _EPOCH_DAY)
        month, bit = month_of(there), there.day - 1
        found = 0
        for days, minutes in self._rules:
            if days.months[month] >> bit & 1:
                found |= minutes
        return found

    def _month(self, month: int) -> int:
        found = 0
        for days, _ in self._rules:
            found |= days.months[month]
        return found

    def _next_day(self, day: int, final: int) -> int | None:
        there = date.fromordinal(day + _EPOCH_DAY)
        month = month_of(there)
        found = self._months[month] >> there.day - 1 << there.day - 1
        first, length = first_and_length(month)
        while not found:
            month, first = month + 1, first + length
            if first - _EPOCH_DAY > final:
                return None
            length = first_and_length(month)[1]
            found = self._months[month]
        day = first - _EPOCH_DAY + (found & -found).bit_length() - 1
        return day if day <= final else None

    def _previous_day(self, day: int, first_day: int) -> int | None:
        there = date.fromordinal(day + _EPOCH_DAY)
        month = month_of(there)
        found = self._months[month] & (1 << there.day) - 1
        first, _ = first_and_length(month)
        while not found:
            if first - _EPOCH_DAY <= first_day:
                return None
            month -= 1
            first, _ = first_and_length(month)
            found = self._months[month]
        day = first - _EPOCH_DAY + found.bit_length() - 1
        return day if day >= first_day else None

    def _count_days(self, day: int, end: int) -> int:
        """Return the number of minutes of whole days, a month at a time."""
        total = 0
        while day < end:
            there = date.fromordinal(day + _EPOCH_DAY)
            month = month_of(there)
            first, length = first_and_length(month)
            following = min(end, first - _EPOCH_DAY + length)
            wanted = (1 << following - day) - 1 << there.day - 1
            total += self._count_in(month, wanted)
            day = following
        return total

    def _count_in(self, month: int, wanted: int) -> int:
        named = [(found, minutes) for days, minutes in self._rules if (found := days.months[month] & wanted)]
        if len(named) == 1:
            return named[0][0].bit_count() * named[0][1].bit_count()
        total = 0
        for bit in bits(self._months[month] & wanted) if named else ():
            together = 0
            for found, minutes in named:
                if found >> bit & 1:
                    together |= minutes
            total += together.bit_count()
        return total


class MixedSlots:
    """The slots of fixed times and of spans together: `Slots`. A slot that both name is one."""

    __slots__ = ("_all", "_fixed", "_real", "_real_clock")

    def __init__(
        self, fixed: CalendarClock, real: CalendarClock, both: CalendarClock, zone_name: str, gap: Gap, overlap: Overlap
    ) -> None:
        self._fixed = ZonedClock(fixed, zone_name, gap, overlap)
        self._real = ZonedClock(real, zone_name, gap, overlap)
        self._real_clock = real
        self._all = both

    def first(self, low: int, high: int) -> int | None:
        one = self._fixed.first(low, high)
        # Nothing later than that is wanted.
        other = self._real.first(low, high if one is None else one)
        return one if other is None else other

    def last(self, low: int, high: int) -> int | None:
        one = self._fixed.last(low, high)
        other = self._real.last(low if one is None else one, high)
        return one if other is None else other

    def count(self, low: int, high: int) -> int:
        total = 0
        for stretch in forward(self._fixed.zone, low, high):
            start, end = self._real.minutes(stretch, low, high)
            # Until then local times come by again, and what has fixed times has had them.
            again = min(max(start, self._fixed.minutes(stretch, low, high)[0]), end)
            total += self._real_clock.count(start, again) + self._all.count(again, end)
            if self._fixed.fires_after_gap(stretch, low, high) and not names_start(self._all, stretch):
                total += 1
        return total

    def nominal(self, slot: int) -> int | None:
        return None if self._real.first(slot, slot) is not None else self._fixed.nominal(slot)


def minutes_of(times: Iterable[int | Span], *, fixed: bool | None = None) -> int:
    """Return the minutes of the fixed times, of the spans that follow real minutes, or of all."""
    found = 0
    for time in times:
        if isinstance(time, Span):
            if fixed in (None, time.fixed):
                for minute in range(time.start, time.end + 1, time.step):
                    found |= 1 << minute
        elif fixed is not False:
            found |= 1 << time
    return found
