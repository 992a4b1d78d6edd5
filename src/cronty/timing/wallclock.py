"""Which minutes of an unbroken local calendar a cron expression names.

No zone here: minutes are counted from 1970-01-01 00:00 as a clock on the wall shows them. Ranges are half
open.
"""

from bisect import bisect_left
from collections.abc import Callable
from datetime import UTC, date, datetime

from cronsim import CronSim, CronSimError

from cronty.timing.grammar import normalize, refusal
from cronty.timing.weeks import Weeks, split_weeks

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_DAY = 1440
_ANY_MOMENT = datetime(2024, 1, 1, tzinfo=UTC)
# Weekdays and leap years repeat every 28 years; ten more, so that the longest hole lies inside.
_CYCLE = range(date(2000, 1, 1).toordinal() - _EPOCH_DAY, date(2038, 1, 1).toordinal() - _EPOCH_DAY)
MAX_HOLE = 3653


class Wallclock:
    """The minutes that match one expression; one that can rest for over 10 years is refused."""

    __slots__ = ("_every_day", "_hours", "_match_day", "_minutes", "_months", "_per_day", "fixed")

    def __init__(self, expression: str) -> None:
        text = normalize(expression)
        plain, weeks = split_weeks(text)
        try:
            matcher = CronSim(plain, _ANY_MOMENT)
        except CronSimError:
            # The grammar lets through only one thing that cronsim refuses: a month without such a day.
            raise refusal(expression, _never(text)) from None
        self._match_day = matcher.match_day if weeks is None else _within(weeks, matcher.match_day)
        self._minutes = tuple(sorted(matcher.minutes))
        self._hours = tuple(sorted(matcher.hours))
        self._months = frozenset(matcher.months)
        self._per_day = len(self._minutes) * len(self._hours)
        minute, hour, *days = text.split()
        self.fixed = not minute.startswith("*") and not hour.startswith("*")
        self._every_day = days == ["*", "*", "*"]
        if weeks is None and self._can_rest_too_long():
            raise refusal(expression, _never(text))

    def first(self, low: int, high: int) -> int | None:
        """Return the first matching minute in the range."""
        day, minute = divmod(low, _DAY)
        if low < high and self._matches(day):
            found = self._first_of_day(minute)
            if found is not None:
                return day * _DAY + found if day * _DAY + found < high else None
        next_day = self._next_day(day + 1, (high - 1) // _DAY)
        if next_day is None:
            return None
        found = next_day * _DAY + self._hours[0] * 60 + self._minutes[0]
        return found if found < high else None

    def last(self, low: int, high: int) -> int | None:
        """Return the last matching minute in the range."""
        day, minute = divmod(high - 1, _DAY)
        if low < high and self._matches(day):
            found = self._last_of_day(minute)
            if found is not None:
                return day * _DAY + found if day * _DAY + found >= low else None
        previous_day = self._previous_day(day - 1, low // _DAY)
        if previous_day is None:
            return None
        found = previous_day * _DAY + self._hours[-1] * 60 + self._minutes[-1]
        return found if found >= low else None

    def count(self, low: int, high: int) -> int:
        """Return the number of matching minutes in the range; whole days are multiplied, not walked."""
        if low >= high:
            return 0
        first_day, first_minute = divmod(low, _DAY)
        final_day, final_minute = divmod(high, _DAY)
        total = self._matching_days(first_day, final_day) * self._per_day
        if first_minute and self._matches(first_day):
            total -= self._before(first_minute)
        if final_minute and self._matches(final_day):
            total += self._before(final_minute)
        return total

    def _matches(self, day: int) -> bool:
        if self._every_day:
            return True
        found = date.fromordinal(day + _EPOCH_DAY)
        return found.month in self._months and self._match_day(found)

    def _next_day(self, day: int, final: int) -> int | None:
        while day <= final:
            found = date.fromordinal(day + _EPOCH_DAY)
            if found.month not in self._months:
                # The next month begins at most 31 days after the first of this one.
                day += 32 - found.day
                day -= date.fromordinal(day + _EPOCH_DAY).day - 1
            elif self._match_day(found):
                return day
            else:
                day += 1
        return None

    def _previous_day(self, day: int, first: int) -> int | None:
        while day >= first:
            found = date.fromordinal(day + _EPOCH_DAY)
            if found.month not in self._months:
                day -= found.day
            elif self._match_day(found):
                return day
            else:
                day -= 1
        return None

    def _matching_days(self, day: int, end: int) -> int:
        if self._every_day:
            return end - day
        total = 0
        found = self._next_day(day, end - 1)
        while found is not None:
            total += 1
            found = self._next_day(found + 1, end - 1)
        return total

    def _first_of_day(self, minute: int) -> int | None:
        hour, within = divmod(minute, 60)
        at = bisect_left(self._hours, hour)
        if at == len(self._hours):
            return None
        if self._hours[at] > hour:
            return self._hours[at] * 60 + self._minutes[0]
        if within <= self._minutes[-1]:
            return hour * 60 + self._minutes[bisect_left(self._minutes, within)]
        return self._hours[at + 1] * 60 + self._minutes[0] if at + 1 < len(self._hours) else None

    def _last_of_day(self, minute: int) -> int | None:
        passed = self._before(minute + 1)
        if passed == 0:
            return None
        hour, within = divmod(passed - 1, len(self._minutes))
        return self._hours[hour] * 60 + self._minutes[within]

    def _before(self, minute: int) -> int:
        """Return how many matching minutes of a matching day come before `minute`."""
        hour, within = divmod(minute, 60)
        at = bisect_left(self._hours, hour)
        total = at * len(self._minutes)
        if at < len(self._hours) and self._hours[at] == hour:
            total += bisect_left(self._minutes, within)
        return total

    def _can_rest_too_long(self) -> bool:
        if self._every_day:
            return False
        day = _CYCLE.start
        # Leap to the furthest match within reach: any hole that was leapt over is shorter than the leap.
        while day + MAX_HOLE < _CYCLE.stop:
            furthest = self._previous_day(day + MAX_HOLE, day + 1)
            if furthest is None:
                return True
            day = furthest
        return False


def _within(weeks: Weeks, match_day: Callable[[date], bool]) -> Callable[[date], bool]:
    def match(day: date) -> bool:
        return weeks.include(day) and match_day(day)

    return match


def _never(text: str) -> str:
    _, _, days, months, weekdays = text.split()
    return (
        f"No such day within 10 years: day-of-month {days} in month {months}, day-of-week {weekdays}; "
        'for the last day of each month use "L" as day-of-month.'
    )
