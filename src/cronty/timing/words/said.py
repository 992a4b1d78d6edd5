"""What a sentence said, clause by clause, before anybody asks what it means."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal

from cronty.timing.errors import Unread

LAST: Final = -1
LAST_WEEKDAY: Final = -2

type Part = Literal["", "morning", "afternoon", "evening", "night"]


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day; `open` if nothing says which half of the day is meant."""

    since_midnight: timedelta
    open: bool = False
    midnight: bool = False
    part: Part = ""

    @property
    def hour(self) -> int:
        return self.since_midnight // timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Window:
    """From one time of day to another; `through` if the end itself is said to belong to it."""

    start: Clock
    end: Clock
    through: bool


@dataclass(frozen=True, slots=True)
class Amount:
    """A length of time; months and days are kept apart because their length isn't fixed."""

    months: int = 0
    days: int = 0
    rest: timedelta = timedelta(0)

    @property
    def elapsed(self) -> timedelta:
        """As hours by the stopwatch, a day being 24 of them."""
        return timedelta(days=self.days) + self.rest


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """A date; more than one choice of (day, month) if it was written as 03/04."""

    choices: tuple[tuple[int, int], ...]
    year: int | None = None

    @property
    def comes_every_year(self) -> bool:
        """Whether it can be said of many years."""
        return self.year is None and len(self.choices) == 1


@dataclass(slots=True)
class Said:
    """Everything that was said; `again` if it was said to happen more than once.

    `weeks` are in `doubt` if `every second Monday` may be the one of the month, or `biweekly` twice a week.
    """

    text: str
    clocks: list[Clock] = field(default_factory=list[Clock])
    window: Window | None = None
    part: Part = ""
    every: Amount | None = None
    weeks: int = 0
    counting_from: CalendarDate | None = None
    delay: Amount | None = None
    relative: int | None = None
    date: CalendarDate | None = None
    weekdays: tuple[int, ...] = ()
    which: Literal["", "this", "next", "this week", "next week"] = ""
    month_days: tuple[int, ...] = ()
    nths: tuple[tuple[int, int], ...] = ()
    months: tuple[int, ...] = ()
    months_of_day: bool = False
    minutes: tuple[int, ...] = ()
    rhythm: Literal["", "day", "week", "month", "year"] = ""
    again: bool = False
    either: bool = False
    each_day: bool = False
    doubt: Literal["", "nth", "twice"] = ""
    by_clock: bool = False
    second_pass: bool = False

    @property
    def names_day(self) -> bool:
        """Whether some day is named, one or many."""
        once = self.relative is not None or self.date is not None or self.delay is not None
        return once or bool(self.weekdays or self.month_days or self.nths or self.rhythm or self.again)

    def put(self, what: str, **values: object) -> None:
        """Note what a clause said; the same thing can't be said twice."""
        for name, value in values.items():
            if getattr(self, name):
                raise Unread(f'Can\'t read "{self.text}": it names {what} twice', "Name it once, or make two jobs.")
            setattr(self, name, value)
