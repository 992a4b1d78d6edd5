"""Every so many weeks: the `%2+1` at the end of a cron expression's day-of-week.

Weeks run from Monday to Sunday and are counted from the one that 1970-01-01 lies in, so that the rule is all in
the text and needs no first day.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

MAX_WEEKS: Final = 52
_WEEK_ZERO: Final = date(1969, 12, 29).toordinal()


@dataclass(frozen=True, slots=True)
class Weeks:
    """The weeks whose number leaves `remainder` when divided by `every`."""

    every: int
    remainder: int

    def __str__(self) -> str:
        return f"%{self.every}" + (f"+{self.remainder}" if self.remainder else "")

    def include(self, day: date) -> bool:
        return week_of(day) % self.every == self.remainder

    def first_monday(self, since: date) -> date:
        """Return the Monday of the first such week that isn't before the week of `since`."""
        monday = since - timedelta(days=since.weekday())
        return monday + timedelta(weeks=(self.remainder - week_of(since)) % self.every)


def week_of(day: date) -> int:
    """Return the number of a day's week."""
    return (day.toordinal() - _WEEK_ZERO) // 7


def split_weeks(normal: str) -> tuple[str, Weeks | None]:
    """Split an expression from `normalize` into five plain fields and its weeks, if it has any."""
    plain, percent, weeks = normal.partition("%")
    if not percent:
        return plain, None
    every, _, remainder = weeks.partition("+")
    return plain, Weeks(int(every), int(remainder or 0))
