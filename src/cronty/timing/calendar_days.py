"""Which days a calendar rule names, a month at a time.

A month is a number (year times 12, plus 0 to 11) and its days are bits of an integer, bit 0 the 1st. A month that has
none costs one look, so ten empty years are 120 of them. What a rule says of a month without its rhythm depends only on
the month's length and first weekday, and is computed once for each.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from cronty.timing.calendar_rule import CalendarRule
from cronty.timing.errors import BadTrigger

MONTHS_AHEAD: Final = 120
_CHECKED_MONTHS: Final = 60 * 12
_MAX_KEPT: Final = 600
_FARTHEST_MOVE: Final = 31
_SEVENTHS: Final = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28
_DAY: Final = timedelta(days=1)


@lru_cache(maxsize=4096)
def first_and_length(month: int) -> tuple[int, int]:
    """Return the ordinal of a month's first day and the number of its days."""
    first = date(month // 12, month % 12 + 1, 1).toordinal()
    return first, (date.fromordinal(first + 27).replace(day=28) + 4 * _DAY).replace(day=1).toordinal() - first


def month_of(day: date) -> int:
    """Return the number of a day's month."""
    return day.year * 12 + day.month - 1


def bits(mask: int) -> Iterator[int]:
    """Yield the members of a set, smallest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class ByMonth(dict[int, int]):
    """What a function says of months, kept."""

    __slots__ = ("_compute",)

    def __init__(self, compute: Callable[[int], int]) -> None:
        self._compute = compute

    def __missing__(self, month: int) -> int:
        if len(self) >= _MAX_KEPT:
            self.clear()
        found = self[month] = self._compute(month)
        return found


class DaySet:
    """Single days, by month."""

    __slots__ = ("_months",)

    def __init__(self, days: Iterable[date]) -> None:
        self._months: dict[int, int] = {}
        for day in days:
            month = month_of(day)
            self._months[month] = self._months.get(month, 0) | 1 << day.day - 1

    def month(self, month: int) -> int:
        return self._months.get(month, 0)


class Outer:
    """What holds for all rules of a calendar: its first and last day, the days left out, its business days.

    `lists` are days off and make-up days; with `closed` there is no slot on a day off.
    """

    __slots__ = ("_closed", "_lists", "_open", "_without", "business", "ends", "instead", "starts")

    def __init__(
        self,
        starts: date | None,
        ends: date | None,
        without: DaySet,
        lists: Sequence[tuple[DaySet, DaySet]],
        instead: str,
        *,
        closed: bool = False,
    ) -> None:
        self.starts, self.ends = starts, ends
        self._without, self._lists, self._closed = without, lists, closed
        self.instead = instead
        self.business = ByMonth(self._business)
        self._open = ByMonth(lambda month: self.within(month, self.business[month]))

    def within(self, month: int, mask: int) -> int:
        """Return those of a month's days that are from the first through the last day and not left out."""
        if self.starts is not None:
            mask = since(self.starts, month, mask)
        if self.ends is not None:
            mask &= ~since(self.ends + _DAY, month, mask)
        mask &= ~self._without.month(month)
        return mask & ~self._days(month)[0] if self._closed else mask

    def _days(self, month: int) -> tuple[int, int]:
        """Return the days of a month that are off, and its make-up days, which win."""
        off = on = 0
        for its_off, its_on in self._lists:
            off |= its_off.month(month)
            on |= its_on.month(month)
        return off & ~on, on

    def _business(self, month: int) -> int:
        first, length = first_and_length(month)
        off, on = self._days(month)
        return (_weekdays_of(range(5), (first - 1) % 7, length) | on) & ~off

    def moved(self, ordinal: int) -> int | None:
        """Return the business day to which a day is moved; None if none is near."""
        day = date.fromordinal(ordinal)
        month = month_of(day)
        if self.instead == "next_business_day":
            found = self._open[month] >> day.day << day.day
            if not found:
                month, found = month + 1, self._open[month + 1]
            bit = (found & -found).bit_length() - 1
        else:
            found = self._open[month] & (1 << day.day - 1) - 1
            if not found:
                month, found = month - 1, self._open[month - 1]
            bit = found.bit_length() - 1
        target = first_and_length(month)[0] + bit
        return target if found and abs(target - ordinal) <= _FARTHEST_MOVE else None


class RuleDays:
    """The days that one rule of a calendar names."""

    __slots__ = ("_outer", "_rhythm", "_rule", "_shapes", "months")

    def __init__(self, rule: CalendarRule, outer: Outer, *, checked: bool = False) -> None:
        self._rule = rule
        self._outer = outer
        self._rhythm = _rhythm(rule)
        self._shapes: dict[tuple[int, int], int] = {}
        self.months = ByMonth(self._month)
        """The days of a month on which the rule has slots, also those that a named calendar takes."""
        if not checked and self._rests_too_long():
            raise BadTrigger(
                "There is no such day in the next 10 years",
                "Check its days, weekdays and months; for the last day of each month use -1.",
            )

    def _month(self, month: int) -> int:
        found = self._named(month)
        if self._outer.instead == "skip":
            return found
        return self._outer.within(month, found & self._outer.business[month] | self._moved_into(month))

    def names(self, day: date) -> bool:
        """Whether the rule itself names a day, before anything is moved."""
        return bool(self._named(month_of(day)) >> day.day - 1 & 1)

    def moved_from(self, day: date) -> list[date]:
        """Return the days whose slots were moved to this one."""
        if self._outer.instead == "skip":
            return []
        return [date.fromordinal(source) for source, target in self._moves(month_of(day)) if target == day.toordinal()]

    def _named(self, month: int) -> int:
        """Return the days that the rule itself names."""
        found = self._plain(month)
        return found and self._outer.within(month, found)

    def _plain(self, month: int) -> int:
        rule = self._rule
        if rule.months and month % 12 + 1 not in rule.months:
            return 0
        rhythm = self._rhythm(month) if self._rhythm is not None else -1
        if not rhythm:
            return 0
        first, length = first_and_length(month)
        shape = (first - 1) % 7, length
        found = self._shapes.get(shape)
        if found is None:
            found = self._shapes[shape] = _shape(rule, *shape)
        if rule.business_days:
            found &= self._business_days(month)
        return found & rhythm

    def _business_days(self, month: int) -> int:
        return _nths_of(self._outer.business[month], self._rule.business_days)

    def _moved_into(self, month: int) -> int:
        first, length = first_and_length(month)
        return _mask(target - first for _, target in self._moves(month) if first <= target < first + length)

    def _moves(self, month: int) -> Iterator[tuple[int, int]]:
        """Yield from where to where days are moved that may end up in this month."""
        for source in (month - 1, month) if self._outer.instead == "next_business_day" else (month, month + 1):
            named = self._named(source)
            first, _ = first_and_length(source)
            for bit in bits(named and named & ~self._outer.business[source]):
                target = self._outer.moved(first + bit)
                if target is not None:
                    yield first + bit, target

    def _rests_too_long(self) -> bool:
        """Leap to the furthest month within reach that has a day: any hole that was leapt over is shorter."""
        month = month_of(self._rule.since or date(2000, 1, 1))
        end = min(month + _CHECKED_MONTHS, 9999 * 12)
        while month + MONTHS_AHEAD < end:
            furthest = month + MONTHS_AHEAD
            while furthest > month and not self._plain(furthest):
                furthest -= 1
            if furthest == month:
                return True
            month = furthest
        return False


def since(day: date, month: int, mask: int) -> int:
    """Return those of a month's days that aren't before `day`."""
    first = month_of(day)
    if month != first:
        return mask if month > first else 0
    return mask >> day.day - 1 << day.day - 1


def _rhythm(rule: CalendarRule) -> Callable[[int], int] | None:
    """Return what says which days of a month are in every so many units; None if all are."""
    start, every = rule.since, rule.every
    if start is None:
        return None
    ordinal = start.toordinal()

    def days(month: int) -> int:
        first, length = first_and_length(month)
        return _mask(range((ordinal - first) % every, length, every))

    def weeks(month: int) -> int:
        first, length = first_and_length(month)
        # Ordinal 1 was a Monday.
        began, offset = divmod(first - 1, 7)
        found = 0
        for week in range((offset + length + 6) // 7):
            if (began + week - (ordinal - 1) // 7) % every == 0:
                found |= 0b1111111 << 7 * week
        return found >> offset & (1 << length) - 1

    def months(month: int) -> int:
        return -1 if (month - month_of(start)) % every == 0 else 0

    def years(month: int) -> int:
        return -1 if (month // 12 - start.year) % every == 0 else 0

    count = {"day": days, "week": weeks, "month": months, "year": years}[rule.unit]
    return lambda month: since(start, month, count(month))


def _shape(rule: CalendarRule, first_weekday: int, length: int) -> int:
    """Return the days that pass the tests on days and weekdays in a month of that shape."""
    found = (1 << length) - 1
    if rule.days:
        found &= _nths_of(found, rule.days)
    if rule.weekdays or rule.nths:
        passing = _weekdays_of(rule.weekdays, first_weekday, length)
        for nth, day in rule.nths:
            passing |= _nths_of(_weekdays_of((day,), first_weekday, length), (nth,))
        found &= passing
    return found


def _weekdays_of(weekdays: Iterable[int], first_weekday: int, length: int) -> int:
    found = 0
    for day in weekdays:
        found |= _SEVENTHS << (day - first_weekday) % 7
    return found & (1 << length) - 1


@lru_cache(maxsize=4096)
def _nths_of(mask: int, nths: tuple[int, ...]) -> int:
    """Return the 1st, 2nd, … or last members of a set."""
    members = list(bits(mask))
    places = (nth - 1 if nth > 0 else len(members) + nth for nth in nths)
    return _mask(members[place] for place in places if 0 <= place < len(members))


def _mask(members: Iterable[int]) -> int:
    found = 0
    for each in members:
        found |= 1 << each
    return found
