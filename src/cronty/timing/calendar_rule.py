"""One rule of a calendar: on which days, at which times; what is said in it is checked here."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, get_args

from cronty.timing.errors import BadTrigger, shown

type Unit = Literal["day", "week", "month", "year"]

UNITS: Final[tuple[Unit, ...]] = get_args(Unit.__value__)
MAX_EVERY: Final[dict[Unit, int]] = {"day": 3652, "week": 520, "month": 120, "year": 10}
MAX_TIMES: Final = 48
MAX_BUSINESS_DAYS: Final = 23
MINUTES: Final = 1440
_HOUR: Final = 60
YEARS: Final = (1970, 9990)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Every `step` minutes from one time through another of the same day; times are minutes after midnight.

    When clocks change it is as the cron that names the same. A step of minutes follows real ones, as `*/15 9-16 * * *`
    does; a step of hours names times of the clock, as `0 9-17 * * *` does, unless it goes round it, as `0 * * * *`.
    """

    start: int
    end: int
    step: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end < MINUTES:
            raise BadTrigger(
                f"Invalid range of times: {clock(self.start)}-{clock(self.end)}",
                'It must end after it starts, on the same day; over midnight takes two: "22:00-23:30/30" and '
                '"00:00-02:00/30".',
            )
        if not 1 <= self.step <= self.end - self.start:
            raise BadTrigger(
                f"Invalid step in a range of times: {shown(self.step)} minutes",
                'It must be 1 or more and fit into the range, as in "08:00-21:30/45".',
            )
        object.__setattr__(self, "end", self.end - (self.end - self.start) % self.step)

    @property
    def fixed(self) -> bool:
        """Whether it names times of the clock, and doesn't follow real minutes."""
        round_the_clock = self.start < _HOUR and self.end + self.step >= MINUTES
        return self.step % _HOUR == 0 and not round_the_clock

    def __str__(self) -> str:
        return f"{clock(self.start)}-{clock(self.end)}/{self.step}"


@dataclass(frozen=True, slots=True)
class CalendarRule:
    """The days that pass every test that is set (empty is not set), at each of `times`.

    `times` are minutes after midnight, or spans. `days` are 1 to 31, or -1 for the last one back to -31. `weekdays`
    are 0 (Monday) to 6; `nths` are weekdays of the month, (1, 0) the first Monday, (-1, 4) the last Friday: a day that
    either of the two names passes. `business_days` are the nth of the month, -1 the last.

    `every` counts units from the one that `since` lies in: weeks from their Monday, months and years of the calendar.
    Nothing is before `since`. A rule of every 2 weeks, months or years that names no days takes those of `since`.
    """

    times: tuple[int | Span, ...]
    every: int = 1
    unit: Unit = "day"
    since: date | None = None
    months: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    nths: tuple[tuple[int, int], ...] = ()
    business_days: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._check()
        self._set("times", tuple(sorted(set(self.times), key=lambda time: (minute_of(time), str(time)))))
        self._set("months", tuple(sorted(set(self.months))))
        self._set("days", _from_either_end(self.days))
        self._set("weekdays", tuple(sorted(set(self.weekdays))))
        # A first Friday beside all Fridays says nothing.
        nths = {nth for nth in self.nths if nth[1] not in self.weekdays}
        self._set("nths", tuple(sorted(nths, key=lambda nth: (nth[0] < 0, nth[0], nth[1]))))
        self._set("business_days", _from_either_end(self.business_days))
        if self.every > 1:
            self._fill_in()
        else:
            self._set("unit", "day")
        # Said with all weekdays or months it is said with none: one spelling for each rule. What was to be filled in
        # has been by now, so that all of them never become one.
        if len(self.weekdays) == 7 and (self.unit == "day" or self.days or self.business_days):
            self._set("weekdays", ())
        if len(self.months) == 12 and self.unit != "year":
            self._set("months", ())

    @property
    def names_days(self) -> bool:
        """Whether any test says which days of a month or week."""
        return bool(self.days or self.weekdays or self.nths or self.business_days)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check(self) -> None:
        if not 1 <= len(self.times) <= MAX_TIMES:
            raise BadTrigger(
                f"Invalid times of a calendar rule: there are {len(self.times)}",
                f'Name 1 to {MAX_TIMES}, as in ["09:00", "17:30"]; for more use a range, as in "08:00-21:30/45".',
            )
        for time in self.times:
            if not isinstance(time, Span) and not 0 <= time < MINUTES:
                raise BadTrigger(f"Invalid time of a calendar rule: minute {shown(time)}", "A day has 0 to 1439.")
        if self.unit not in UNITS or not 1 <= self.every <= MAX_EVERY[self.unit]:
            most = ", ".join(f"{most} {unit}s" for unit, most in MAX_EVERY.items())
            raise BadTrigger(
                f"Invalid rhythm of a calendar rule: every {shown(self.every)} {shown(self.unit)}", f"At most: {most}."
            )
        _within(self.months, 1, 12, "months", "1 (January) to 12")
        _within(
            map(abs, self.days), 1, 31, "days", "1 to 31, or -1 for the last day of the month, -2 for the one before"
        )
        _within(self.weekdays, 0, 6, "weekdays", "MO, TU, WE, TH, FR, SA, SU")
        _within((day for _, day in self.nths), 0, 6, "weekdays", "MO, TU, WE, TH, FR, SA, SU")
        _within((abs(nth) for nth, _ in self.nths), 1, 5, "weekdays", "1MO to 5MO, or -1MO for the last Monday")
        _within(
            map(abs, self.business_days),
            1,
            MAX_BUSINESS_DAYS,
            "business_days",
            "1 for the first, -1 for the last, to 23",
        )
        self._check_rhythm()

    def _check_rhythm(self) -> None:
        if self.since is not None:
            check_year(self.since, "since")
        if self.every > 1 and self.since is None:
            raise BadTrigger(
                f'A calendar rule of every {self.every} {self.unit}s needs "since"',
                'It is the day to count from, as in {"every": 2, "unit": "week", "since": "2027-04-05"}.',
            )
        if self.every == 1 and self.since is not None:
            raise BadTrigger(
                '"since" is only for every 2 units or more', 'Use "starts" for the first day on which it may fire.'
            )
        if self.every == 1 and (
            (self.unit == "week" and not self.weekdays)
            or (self.unit == "month" and not self.names_days)
            or (self.unit == "year" and not (self.months and self.names_days))
        ):
            named = {"week": '"weekdays"', "month": '"days" or "weekdays"', "year": '"months" and "days"'}[self.unit]
            raise BadTrigger(
                f"A calendar rule of every {self.unit} must say when in the {self.unit}", f"Name its {named}."
            )

    def _fill_in(self) -> None:
        assert self.since is not None
        if self.unit == "year" and not self.months:
            self._set("months", (self.since.month,))
        if self.unit == "week" and not self.weekdays and not self.nths:
            self._set("weekdays", (self.since.weekday(),))
        elif self.unit in ("month", "year") and not self.names_days:
            self._set("days", (self.since.day,))


def minute_of(time: int | Span) -> int:
    """Return the minute of the day at which a time is, or at which a span starts."""
    return time.start if isinstance(time, Span) else time


def clock(minute: int) -> str:
    """Return a minute of the day as `09:05`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def check_year(day: date, what: str) -> None:
    """Refuse a day at the ends of Python's calendar, where there is no room to count."""
    if not YEARS[0] <= day.year <= YEARS[1]:
        raise BadTrigger(f'"{what}" is out of range: {day.isoformat()}', f"Name a day from {YEARS[0]} to {YEARS[1]}.")


def _from_either_end(days: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(set(days), key=lambda day: (day < 0, day)))


def _within(values: Iterable[int], low: int, high: int, what: str, known: str) -> None:
    for value in values:
        if not low <= value <= high:
            raise BadTrigger(f'Invalid "{what}" of a calendar rule: {shown(value)}', f"Use {known}.")
