"""From the days that were said to the fields of a cron expression."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.calendar_rule import MAX_EVERY
from cronty.timing.cron import Cron
from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.weeks import MAX_WEEKS, Weeks, week_of
from cronty.timing.words.dates import is_date
from cronty.timing.words.meaning import Scene
from cronty.timing.words.runs import runs
from cronty.timing.words.said import LAST, CalendarDate, Said
from cronty.timing.words.vocabulary import MONTH_NAMES, WEEKDAY_NAMES, ordinal
from cronty.timing.zoned import nominal
from cronty.timing.zones import zone

DAY: Final = timedelta(days=1)
_COMMON_YEAR: Final = 2027
_OF_MONTH: Final = '"on the 1st of every month at 9:00" or "last day of the month at 17:00"'
_DAYS_OF: Final = {
    "day": '"every day at 9:00"',
    "week": '"every Monday at 9:00"',
    "year": '"every year on 3 May at 9:00"',
}


@dataclass(frozen=True, slots=True)
class Days:
    """The three day fields of a cron expression; if it isn't every week, every how many, counting from when."""

    of_month: str = "*"
    months: str = "*"
    of_week: str = "*"
    weeks: int = 1
    counting_from: date | None = None

    def cron(self, minutes: str, hours: str, scene: Scene) -> Cron:
        try:
            cron = Cron(f"{minutes} {hours} {self.of_month} {self.months} {self.of_week}", scene.zone)
        except BadTrigger:
            hint = 'Name a day that exists, as in "last Monday of February at 9:00".'
            raise BadTrigger("There is no such day in the next 10 years", hint) from None
        if self.weeks == 1:
            return cron
        week = week_of(self.counting_from or first_day(cron, scene))
        return Cron(f"{cron.expression}{Weeks(self.weeks, week % self.weeks)}", scene.zone)


def check_days(said: Said) -> None:
    """Refuse days that contradict each other, or that aren't said."""
    if (
        said.relative is not None
        or said.which
        or said.months_ahead is not None
        or (said.date and not said.date.comes_every_year)
    ):
        either = said.date is not None and len(said.date.choices) > 1
        hint = 'Write the date as in "every year on 3 May at 9:00".' if either else "Leave out one of the two."
        raise Unread(f'Can\'t read "{said.text}": one day, and again and again', hint)
    cycle = said.cycle or said.every
    if said.counting_from and not said.weeks and (cycle is None or cycle.elapsed % DAY):
        raise Unread(
            f'Can\'t read "counting from" in "{said.text}"',
            'It says which weeks are meant, as in "every 2 weeks on Monday at 9:00, counting from 5 January 2026".',
        )
    if said.cycle is not None and (said.cycle.rest or (said.cycle.months and said.cycle.days)):
        raise _two_rhythms(said)  # "every hour from 9 through 17" on days that are 25.5 hours apart
    _check_kinds(said)
    _check_rhythm(said)
    months = 0 if said.every is None or said.counting_from else said.every.months % 12
    if months and (said.date is not None or len(said.months) == 1):
        # "Every 6 months on 1 January" is said of January, and of July.
        raise Unread(
            f'Can\'t read "{said.text}": it names one month',
            f'Say "every {said.every.months if said.every else 1} months on the 1st at 9:00", and from when on.',
        )


def _check_kinds(said: Said) -> None:
    dated = said.of_month or said.date is not None
    kinds = bool(said.weekdays) + bool(said.nths) + bool(said.month_days) + bool(said.business_days) + bool(said.date)
    if said.either and kinds < 2:
        raise Unread(f'Can\'t read "or" in "{said.text}"', 'Say "and" between times or days.')
    if said.weeks > MAX_EVERY["week"]:
        raise BadTrigger(f'Can\'t repeat "{said.text}"', "A period is from 1 second to 10 years.")
    if said.weeks and (dated or said.nths) and not said.counting_from:
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: weeks go with days of the week only',
            f'Leave the others out, as in "every {said.weeks} weeks on Monday and Thursday at 9:00".',
        )
    if said.either and dated and said.weekdays and said.nths:
        raise Unread(f'Can\'t read "{said.text}": too many kinds of day', "Make a job for each.")
    if said.date and said.month_days:
        raise Unread(f'Can\'t read "{said.text}": it names the day in two ways', "Make a job for each.")
    if said.date and said.months:
        raise Unread(f'Can\'t read "{said.text}": it names the month twice', "Name it once.")
    if said.weekdays and said.nths and not said.either and not said.ranked_too:
        raise Unread(f'Can\'t read "{said.text}": it names the day of the week twice', "Name it once.")


def _check_rhythm(said: Said) -> None:
    dated = said.of_month or said.date is not None
    weekly = bool(said.weekdays or said.nths)
    if (said.rhythm == "week" and not said.weekdays and dated) or (said.rhythm == "day" and (dated or weekly)):
        raise _two_rhythms(said)
    if said.rhythm and (said.weeks or (said.every is not None and said.every.elapsed >= DAY)):
        raise no_day(said) if said.weeks and not said.weekdays else _two_rhythms(said)
    if said.rhythm == "week" and not said.weekdays:
        raise no_day(said)
    of_month = dated or bool(said.nths)
    if said.rhythm == "month" and not of_month:
        raise no_day(said)
    if said.rhythm == "month" and (said.date or len(said.months) == 1):
        raise _two_rhythms(said)
    if said.rhythm == "year" and not (said.date or (said.months and of_month)):
        raise no_day(said)
    if not said.again and said.months and not said.every and not said.rhythm and not dated and not weekly:
        raise no_day(said)


def _two_rhythms(said: Said) -> BadTrigger:
    return Unread(f'Can\'t read "{said.text}": two different rhythms', "Leave out one of the two.")


def fields_of(said: Said) -> Days | None:
    """Put the days that were said into fields; None if five fields can't hold them."""
    if said.cycle is not None:
        return None
    if said.weeks:
        return _in_weeks(said)
    dated = said.of_month or said.date is not None
    every_day = len(said.weekdays) == 7 and dated and not said.either
    weekly = bool(said.nths) or (bool(said.weekdays) and not every_day)
    if any(day < LAST for day in (*said.month_days, *said.business_days)) or any(nth < LAST for nth, _ in said.nths):
        return None
    if said.either and len(said.weekdays) == 7:
        return Days(months="*" if said.date or said.months_of_day else _months(said.months))
    if any(day != LAST for day in said.business_days) or (said.business_days and said.date):
        return None
    if said.month_days and said.business_days and not said.either:
        return None
    if said.either and (said.date or said.months_of_day):
        return None
    if dated and weekly and not said.either:
        return None
    if said.either and "*" in (_of_month(said), _of_week(said)) and dated and weekly:
        return Days(months=_months(said.months))
    if said.date:
        day, month = said.date.choices[0]
        return Days(str(day), MONTH_NAMES[month - 1][:3].upper())
    return Days(_of_month(said), _months(said.months), _of_week(said))


def _in_weeks(said: Said) -> Days | None:
    """Put days of every so many weeks into fields."""
    if said.of_month or said.nths or said.date or said.months or said.either or said.weeks > MAX_WEEKS:
        return None
    if said.first_day is not None:  # a cron has none
        return None
    since = None if said.counting_from is None else day_of(said.counting_from)
    return Days(of_week=_weekdays(said.weekdays), weeks=said.weeks, counting_from=since)


def day_of(said: CalendarDate) -> date:
    """The day of a date with its year."""
    ((day, month),) = said.choices
    assert said.year is not None
    return date(said.year, month, day)


def no_day(said: Said) -> BadTrigger:
    """What to say if only a time was named, and how often."""
    example = f'"every {said.weeks} weeks on Monday at 9:00"' if said.weeks else _DAYS_OF.get(said.rhythm, _OF_MONTH)
    if said.every is not None and said.every.months > 1:
        years, months = divmod(said.every.months, 12)
        example = (
            f'"every {years} years on 3 May at 9:00"'
            if not months
            else f'"every {said.every.months} months on the 1st at 9:00"'
        )
    return BadTrigger(f'"{said.text}" doesn\'t say on which day', f"Say on which day, as in {example}.")


def a_day_later(said: Said, every_time: bool) -> Said:
    """The night of Friday ends on Saturday; only days of the week can be moved that way."""
    # The night of Sunday ends in another week, which is another rule if it isn't every week.
    torn = said.weeks and 6 in said.weekdays and (len(said.weekdays) > 1 or said.counting_from)
    others = said.of_month or said.nths or said.date or said.months
    if not every_time or not said.weekdays or others or torn:
        raise BadTrigger(
            f'Can\'t tell which night is meant by "{said.text}"',
            'Say "at 00:00" for the beginning of the day, or "at 23:59" for its end.',
        )
    return replace(said, weekdays=tuple(sorted((day + 1) % 7 for day in said.weekdays)))


def first_day(cron: Cron, scene: Scene) -> date:
    """The day on which it comes next."""
    slot = cron.after(scene.now)
    assert slot is not None
    return meant(cron, slot).date()


def meant(trigger: Cron | Calendar, slot: datetime) -> datetime:
    """What clocks were to show, without an offset: not where a change of the clocks moves it."""
    return (nominal(trigger, slot) or slot.astimezone(zone(trigger.zone))).replace(tzinfo=None, fold=0)


def left_out(said: Said) -> str | None:
    """Say so if some months have no such day."""
    if said.date is not None:
        return "only in leap years" if said.date.choices[0] == (29, 2) else None
    day = max(said.month_days, default=0)
    months = said.months or range(1, 13)
    if day > 28 and _of_month(said) != "*" and any(not is_date(day, each, _COMMON_YEAR) for each in months):
        only = len(said.month_days) == 1
        return f"months without a {ordinal(day)} are left out" if only else f"some months have no {ordinal(day)}"
    fifth = bool(said.nths) and all(nth == 5 for nth, _ in said.nths)
    return "months without a fifth one are left out" if fifth else None


def odd_weeks(cron: Cron, said: Said, scene: Scene) -> str | None:
    """Say what somebody may not expect of weeks."""
    if said.counting_from is not None and first_day(cron, scene) < day_of(said.counting_from):
        return "the date only says which weeks are meant: the first slot is before it"
    if said.weeks and 6 in said.weekdays and len(said.weekdays) > 1 and set(said.weekdays) != {5, 6}:
        return "weeks run from Monday to Sunday"
    return None


def _of_month(said: Said) -> str:
    days = said.month_days
    if set(days) >= set(range(1, 32)):
        return "*"
    numbers = [ranges(day for day in days if day > 0)] if max(days, default=0) > 0 else []
    return ",".join(numbers + ["L"] * (LAST in days) + ["LW"] * (LAST in said.business_days)) or "*"


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
