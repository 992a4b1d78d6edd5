"""What a sentence said, before anything is asked about what it means."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal

from cronty.timing.errors import Unread
from cronty.timing.words.vocabulary import Part

LAST: Final = -1

type Rhythm = Literal["", "day", "week", "month", "year"]
type Which = Literal["", "this", "next", "this week", "next week"]


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day; `open` if nothing says which half of the day is meant, `of_12` if "am" or "pm" says so.

    `soft` if it was said as "at lunch". `shares_pm` if the "pm" of another time may hold for this one: `7 and 9 pm`.
    `or_before` if it may be an hour earlier: `half 7` is 7:30 to some and 6:30 to others.
    """

    since_midnight: timedelta
    open: bool = False
    midnight: bool = False
    part: Part = ""
    soft: str = ""
    of_12: bool = False
    shares_pm: bool = False
    or_before: bool = False

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

    @property
    def within_day(self) -> bool:
        """Whether it is shorter than a day."""
        return not self.months and not self.days


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """A date; more than one choice of (day, month) if it was written as 03/04."""

    choices: tuple[tuple[int, int], ...]
    year: int | None = None

    @property
    def comes_every_year(self) -> bool:
        """Whether it can be said of many years."""
        return self.year is None and len(self.choices) == 1


@dataclass(frozen=True, slots=True)
class Point:
    """A day from which or until which something holds; `end_of` or `start_of` a month or a year, if it is one.

    `ranked` is for `the 1st of next month` and `the first Monday in May`: how many, and of which days of the week.
    `after` is for `in two weeks`.
    """

    relative: int | None = None
    weekday: int | None = None
    which: Which = ""
    date: CalendarDate | None = None
    edge: Literal["", "end of", "start of"] = ""
    unit: Literal["", "week", "month", "year"] = ""
    month: int = 0
    year: int | None = None
    ranked: tuple[int, tuple[int, ...]] | None = None
    after: Amount | None = None


@dataclass(slots=True)
class Bounds:
    """From when, until when, how long, how often, and what is left out."""

    starts: Point | None = None
    ends: Point | None = None
    lasts: Amount | None = None
    most: int | None = None
    without_weekdays: tuple[int, ...] = ()
    without_months: tuple[int, ...] = ()
    without_days: tuple[int, ...] = ()
    without_nths: tuple[tuple[int, int], ...] = ()
    without_dates: tuple[tuple[CalendarDate, CalendarDate], ...] = ()
    without_day: Point | None = None

    def __bool__(self) -> bool:
        return self != Bounds()


@dataclass(slots=True)
class Said:
    """Everything that was said of some days and their times; `again` if it was said to happen more than once.

    `weeks` are in `doubt` if `every second Monday` may be the one of the month, or `biweekly` twice a week; so are the
    `ranks` of `the 15th and last business day`, of which the first may be a day of the month; and `the weekend` may be
    the coming one. `bare_month` is for `every June at 9`: all of its days, or its first. A `lent` group may have the
    rhythm of the one before it: `every 2 weeks on Monday at 9 and on Friday at 10`.
    `ranked_too` is for `a Monday or the first Friday`, which are one kind of day.
    `cycle` is every so many days or months beside an `every` of minutes: `every 5 minutes from 9 to 10 every 2 days`.
    `either` is for two kinds of day with "or" or "and" between them: any of the two will do.
    `first_run` if the `first_clock` is said to be that of the first run: `every hour starting at 9`, unlike `from 9`.
    `after` is what stands between it and the group before: "and", "," or ";".
    `first_day` is for `every 2 weeks on Monday at 9 (starting 5 April 2027)`: it counts from a day of its own.
    `parts` are those of `every morning and evening at 8`: each of them has that time.
    `business_ahead` is for `the next business day`: so many business days from today.
    In `nightly at 2, weekdays` it is in doubt whether the nights begin or end on these days.
    """

    text: str
    clocks: list[Clock] = field(default_factory=list[Clock])
    windows: list[Window] = field(default_factory=list[Window])
    first_clock: Clock | None = None
    part: Part = ""
    parts: tuple[Part, ...] = ()
    every: Amount | None = None
    cycle: Amount | None = None
    weeks: int = 0
    quarterly: bool = False
    counting_from: CalendarDate | None = None
    first_day: CalendarDate | None = None
    delay: Amount | None = None
    delay_from: bool = False
    business_ahead: int = 0
    relative: int | None = None
    date: CalendarDate | None = None
    weekdays: tuple[int, ...] = ()
    which: Which = ""
    month_days: tuple[int, ...] = ()
    business_days: tuple[int, ...] = ()
    nths: tuple[tuple[int, int], ...] = ()
    months: tuple[int, ...] = ()
    months_of_day: bool = False
    months_ahead: int | None = None
    month_of_year: tuple[int, int] | None = None
    minutes: tuple[int, ...] = ()
    rhythm: Rhythm = ""
    again: bool = False
    either: bool = False
    ranked_too: bool = False
    doubt: Literal["", "nth", "twice", "ranks", "delay", "weekend", "nights"] = ""
    bare_month: bool = False
    by_clock: bool = False
    second_pass: bool = False
    lent: bool = False
    first_run: bool = False
    after: str = ""

    @property
    def of_month(self) -> bool:
        """Whether days of the month are named by their number or rank."""
        return bool(self.month_days or self.business_days)

    @property
    def names_day(self) -> bool:
        """Whether some day is named, one or many."""
        once = self.relative is not None or self.date is not None or self.delay is not None or self.business_ahead
        return bool(once) or bool(
            self.weekdays or self.of_month or self.nths or self.rhythm or self.again or self.cycle
        )

    def put(self, what: str, **values: object) -> None:
        """Note what an item said; the same thing can't be said twice."""
        for name, value in values.items():
            if getattr(self, name):
                raise Unread(f'Can\'t read "{self.text}": it names {what} twice', "Name it once, or make two jobs.")
            setattr(self, name, value)
