"""From the days that were said to the fields of a cron expression."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final

from cronty.timing.cron import Cron, nominal
from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.weeks import MOST_WEEKS, Weeks, week_of
from cronty.timing.words.dates import is_date
from cronty.timing.words.meaning import Scene
from cronty.timing.words.runs import runs
from cronty.timing.words.said import LAST, LAST_WEEKDAY, CalendarDate, Said
from cronty.timing.words.vocabulary import MONTH_NAMES, WEEKDAY_NAMES, ordinal
from cronty.timing.zones import zone

_COMMON_YEAR: Final = 2027
_OF_MONTH: Final = '"on the 1st of every month at 9:00" or "last day of the month at 17:00"'
_DAYS_OF: Final = {"week": '"every Monday at 9:00"', "year": '"every year on 3 May at 9:00"'}


@dataclass(frozen=True, slots=True)
class Days:
    """The three day fields of a cron expression; if it isn't every week, every how many, counting from when."""

    of_month: str = "*"
    months: str = "*"
    of_week: str = "*"
    weeks: int = 1
    counting_from: date | None = None

    def cron(self, minutes: str, hours: str, scene: Scene) -> Cron:
        cron = Cron(f"{minutes} {hours} {self.of_month} {self.months} {self.of_week}", scene.zone)
        if self.weeks == 1:
            return cron
        week = week_of(self.counting_from or first_day(cron, scene))
        return Cron(f"{cron.expression}{Weeks(self.weeks, week % self.weeks)}", scene.zone)


def days_of(said: Said) -> Days:
    """Put the days that were said into fields; two kinds of day only with "or" between them."""
    if said.relative is not None or said.which or (said.date and not said.date.comes_every_year):
        raise Unread(f'Can\'t read "{said.text}": one day, and again and again', "Leave out one of the two.")
    dated = said.month_days or said.date
    weekly = said.weekdays or said.nths
    if said.weeks or said.counting_from:
        return _in_weeks(said)
    if bool(said.weekdays) + bool(said.nths) + bool(said.month_days) + bool(said.date) > 1 and not said.either:
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: two kinds of day that would both have to match',
            'Name one kind of day; "on the 1st, or on Mondays" is either of them.',
        )
    if said.either and not (dated and weekly):
        raise Unread(f'Can\'t read "or" in "{said.text}"', 'Say "and" between times or days.')
    if said.rhythm in ("week", "month", "year") and not dated and not weekly:
        raise no_day(said)
    if said.rhythm == "year" and not said.date and not said.months:
        raise no_day(said)
    if (said.rhythm == "week" and not said.weekdays) or (said.rhythm == "day" and (dated or weekly)):
        raise Unread(f'Can\'t read "{said.text}": two different rhythms', "Leave out one of the two.")
    if said.either and (said.date or said.months_of_day):
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: the month would hold for both kinds of day',
            "Make two jobs: one for the dates, one for the days of the week.",
        )
    if said.either and "*" in (_of_month(said.month_days), _of_week(said)):
        return Days(months=_months(said.months))
    if said.date:
        day, month = said.date.choices[0]
        if said.months:
            raise Unread(f'Can\'t read "{said.text}": it names the month twice', "Name it once.")
        return Days(str(day), MONTH_NAMES[month - 1][:3].upper())
    if not said.again and said.months and not said.every and not said.rhythm and not dated and not weekly:
        raise no_day(said)
    return Days(_of_month(said.month_days), _months(said.months), _of_week(said))


def _in_weeks(said: Said) -> Days:
    """Put days of every so many weeks into fields."""
    example = f'"every {min(max(said.weeks, 2), MOST_WEEKS)} weeks on Monday and Thursday at 9:00"'
    if not said.weeks:
        raise Unread(
            f'Can\'t read "counting from" in "{said.text}"',
            'It says which weeks are meant, as in "every 2 weeks on Monday at 9:00, counting from 5 January 2026".',
        )
    if said.each_day or said.rhythm:
        raise Unread(f'Can\'t read "{said.text}": two different rhythms', "Make a job for each.")
    if said.month_days or said.nths or said.date or said.months or said.either:
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: weeks go with days of the week only',
            f"Leave the others out, as in {example}.",
        )
    if not said.weekdays:
        raise no_day(said)
    if said.weeks > MOST_WEEKS:
        raise BadTrigger(
            f'Can\'t keep "{said.text}": more than {MOST_WEEKS} weeks', f"Use 2 to {MOST_WEEKS}, as in {example}."
        )
    since = None if said.counting_from is None else _day(said.counting_from)
    return Days(of_week=_weekdays(said.weekdays), weeks=said.weeks, counting_from=since)


def _day(said: CalendarDate) -> date:
    ((day, month),) = said.choices
    assert said.year is not None
    return date(said.year, month, day)


def no_day(said: Said) -> BadTrigger:
    """What to say if only a time was named, and how often."""
    example = f'"every {said.weeks} weeks on Monday at 9:00"' if said.weeks else _DAYS_OF.get(said.rhythm, _OF_MONTH)
    return BadTrigger(f'"{said.text}" doesn\'t say on which day', f"Say on which day, as in {example}.")


def a_day_later(days: Days, said: Said, every_time: bool) -> Days:
    """The night of Friday ends on Saturday; only days of the week can be moved that way."""
    # The night of Sunday ends in another week, which is another rule if it isn't every week.
    torn = said.weeks and 6 in said.weekdays and (len(said.weekdays) > 1 or said.counting_from)
    if not every_time or not said.weekdays or days.of_month != "*" or days.months != "*" or torn:
        raise BadTrigger(
            f'Can\'t tell which night is meant by "{said.text}"',
            'Say "at 00:00" for the beginning of the day, or "at 23:59" for its end.',
        )
    return replace(days, of_week=_weekdays((day + 1) % 7 for day in said.weekdays))


def first_day(cron: Cron, scene: Scene) -> date:
    """The day on which it comes next."""
    slot = cron.after(scene.now)
    assert slot is not None
    return meant(cron, slot).date()


def meant(cron: Cron, slot: datetime) -> datetime:
    """What clocks were to show, without an offset: not where a change of the clocks moves it."""
    return (nominal(cron, slot) or slot.astimezone(zone(cron.zone))).replace(tzinfo=None, fold=0)


def left_out(said: Said) -> str | None:
    """Say so if some months have no such day."""
    if said.date is not None:
        return "only in leap years" if said.date.choices[0] == (29, 2) else None
    day = max(said.month_days, default=0)
    months = said.months or range(1, 13)
    if day > 28 and _of_month(said.month_days) != "*" and any(not is_date(day, each, _COMMON_YEAR) for each in months):
        only = len(said.month_days) == 1
        return f"months without a {ordinal(day)} are left out" if only else f"some months have no {ordinal(day)}"
    return "months without a fifth one are left out" if any(nth == 5 for nth, _ in said.nths) else None


def odd_weeks(cron: Cron, said: Said, scene: Scene) -> str | None:
    """Say what somebody may not expect of weeks."""
    if said.counting_from is not None and first_day(cron, scene) < _day(said.counting_from):
        return "the date only says which weeks are meant: the first slot is before it"
    if said.weeks and 6 in said.weekdays and len(said.weekdays) > 1 and set(said.weekdays) != {5, 6}:
        return "weeks run from Monday to Sunday"
    return None


def _of_month(days: tuple[int, ...]) -> str:
    if set(days) >= set(range(1, 32)):
        return "*"
    numbers = [ranges(day for day in days if day > 0)] if max(days, default=0) > 0 else []
    return ",".join(numbers + ["L"] * (LAST in days) + ["LW"] * (LAST_WEEKDAY in days)) or "*"


def _months(months: tuple[int, ...]) -> str:
    names = [name[:3].upper() for name in MONTH_NAMES]
    found = [names[low - 1] + (f"-{names[high - 1]}" if low != high else "") for low, high in runs(months)]
    return ",".join(found) if 0 < len(months) < 12 else "*"


def _of_week(said: Said) -> str:
    names = [name[:3].upper() for name in WEEKDAY_NAMES]
    nths = [f"{names[day]}{'L' if nth == LAST else f'#{nth}'}" for nth, day in sorted(said.nths, key=_last_last)]
    return ",".join(([_weekdays(said.weekdays)] if said.weekdays else []) + nths) or "*"


def _last_last(nth: tuple[int, int]) -> tuple[int, int]:
    """The order in which `first Monday`, `third Monday`, `last Friday` are said."""
    return (9, nth[1]) if nth[0] == LAST else nth


def _weekdays(days: Iterable[int]) -> str:
    found = sorted(set(days))
    if found == list(range(5)):
        return "MON-FRI"
    return ",".join(WEEKDAY_NAMES[day][:3].upper() for day in found) if len(found) < 7 else "*"


def ranges(values: Iterable[int]) -> str:
    """`1,3-5`."""
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs(values))
