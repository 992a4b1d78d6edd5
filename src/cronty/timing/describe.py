"""A trigger in words.

Whatever `read_words` can read from words is said back so that reading it again gives the same trigger: for a
one-off that is yet to come always (the same moment, now as a local time), for an interval if it is read at its
anchor, for a cron expression in the spelling that `read_words` uses. A cron expression in another spelling
(`0 9 * * 1-5`) is either said in words that read to the same slots, or in a plain sentence with the values of its
fields that `read_words` refuses; so is one with an unusual `gap` or `overlap`. Words over 500 characters are
refused too, never misread.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from cronsim import CronSim

from cronty.timing.broken import Broken
from cronty.timing.calendar import Calendar
from cronty.timing.cron import Cron
from cronty.timing.describe_calendar import describe_calendar, month_spans
from cronty.timing.grammar import normalize
from cronty.timing.interval import Interval
from cronty.timing.once import Once
from cronty.timing.trigger import Trigger
from cronty.timing.weeks import Weeks, split_weeks
from cronty.timing.words.places import place
from cronty.timing.words.runs import runs
from cronty.timing.words.vocabulary import MONTH_NAMES, ORDINAL_NAMES, WEEKDAY_NAMES, listed, ordinal
from cronty.timing.zones import zone

_MAX_TIMES: Final = 12
_MAX_SPANS: Final = 3
_UNITS: Final = (("day", 86_400), ("hour", 3600), ("minute", 60))
_ANY_MOMENT: Final = datetime(2024, 1, 1, tzinfo=UTC)
# Any date would do from which to count weeks; always the same one, so that nobody needs to know what time it is.
_FIRST_WEEK: Final = date(2026, 1, 5)
_WEEK: Final = ("Sunday", *WEEKDAY_NAMES)


def describe(trigger: Trigger, zone_name: str = "UTC") -> str:
    """Return a trigger as a sentence; `zone_name` is for one-offs, a cron has its own, an interval needs none."""
    match trigger:
        case Once(at=at):
            return _moment(at, zone(zone_name).key)
        case Interval(period=period):
            return f"Every {_period(period)}"
        case Cron(expression=expression, zone=own_zone):
            fields = _fields(expression)
            return f"{_cron(fields)}, {place(own_zone)}{_unusual(trigger, fields)}"
        case Calendar():
            return describe_calendar(trigger)
        case Broken(reason=reason):
            return f"Can't be read any more: {reason}"


def with_count(words: str, zone_name: str, times: int | None) -> str:
    """The words with `10 times` in them, before the zone."""
    if times is None:
        return words
    tail = f", {place(zone_name)}"
    return f"{words.removesuffix(tail)}, {times} time{'' if times == 1 else 's'}{tail if words.endswith(tail) else ''}"


def _moment(at: datetime, zone_name: str) -> str:
    local = at.astimezone(zone(zone_name))
    timespec = "minutes" if not local.second and not local.microsecond else "auto"
    clock = local.replace(tzinfo=None).time().isoformat(timespec)
    day = f"{WEEKDAY_NAMES[local.weekday()]} {local.day} {MONTH_NAMES[local.month - 1]} {local.year:04}"
    return f"On {day} at {clock}{' (second pass)' if local.fold else ''}, {place(zone_name)}"


def _period(period: timedelta) -> str:
    seconds = period // timedelta(seconds=1)
    fraction = period.microseconds
    parts: list[str] = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(_counted(str(count), unit))
    if seconds or fraction:
        exact = f"{seconds}.{fraction:06}".rstrip("0") if fraction else str(seconds)
        parts.append(_counted(exact, "second"))
    text = " ".join(parts)
    if period == timedelta(days=1):
        return "24 hours"
    if timedelta(hours=1) < period < timedelta(hours=2) and not period % timedelta(minutes=1):
        return f"{period // timedelta(minutes=1)} minutes"
    if not period % timedelta(days=1):
        # A day of the calendar may have 23 or 25 hours; these don't.
        return f"{text} ({period // timedelta(hours=1)} hours)"
    return text.removeprefix("1 ") if len(parts) == 1 else text


def _counted(count: str, unit: str) -> str:
    return f"{count} {unit}{'' if count == '1' else 's'}"


@dataclass(frozen=True, slots=True)
class _Fields:
    """The five fields as text, and the values that they hold."""

    minute: str
    hour: str
    day: str
    month: str
    weekday: str
    minutes: list[int]
    hours: list[int]
    days: list[int]
    months: list[int]
    weekdays: list[int]
    nths: list[tuple[int, int]]
    weeks: Weeks | None

    @property
    def fixed(self) -> bool:
        return not self.minute.startswith("*") and not self.hour.startswith("*")


def _fields(expression: str) -> _Fields:
    text, weeks = split_weeks(normalize(expression))
    matcher = CronSim(text, _ANY_MOMENT)
    weekdays = {each % 7 for each in matcher.weekdays if isinstance(each, int)}
    nths = {(nth, day % 7) for day, nth in (each for each in matcher.weekdays if not isinstance(each, int))}
    return _Fields(
        *text.split(),
        minutes=sorted(matcher.minutes),
        hours=sorted(matcher.hours),
        days=sorted(matcher.days),
        months=sorted(matcher.months),
        weekdays=sorted((day - 1) % 7 for day in weekdays),
        nths=sorted(nths, key=lambda nth: (nth[0] if nth[0] > 0 else 9, (nth[1] - 1) % 7)),
        weeks=weeks,
    )


def _cron(fields: _Fields) -> str:
    every, often = _every(fields), True
    if every is None:
        every, often = _at(fields), False
    if fields.weeks is not None:
        return f"{every} {_in_weeks(fields, fields.weeks, often=often)}"
    days = _days(fields)
    if not often:
        return f"{every} {days or 'every day'}" if not days.startswith("in ") else f"{every} every day {days}"
    if not days and every.endswith(("minute", "minutes")) and fields.hour == "*":
        return f"{every} by the clock"
    return f"{every} {days}".rstrip()


def _unusual(cron: Cron, fields: _Fields) -> str:
    """Say what isn't usual when clocks change, also of what follows real minutes but is said as if it were fixed."""
    looks_fixed = _every(fields) is None and _is_short(fields)
    if not fields.fixed and not looks_fixed:
        return ""
    gap = "; left out if the clocks jump over it" if cron.gap == "skip" or not fields.fixed else ""
    both = cron.overlap == "both" or not fields.fixed
    return gap + ("; both times if the clocks show it twice" if both else "")


def _every(fields: _Fields) -> str | None:
    """Say a rhythm of the clock, if the fields have one that begins anew with every hour or day."""
    step = 1 if fields.hour == "*" and len(fields.minutes) == 60 else _step(fields.minute, 60)
    window = _hour_window(fields)
    if step is not None:
        every = "Every minute" if step == 1 else f"Every {step} minutes"
        if fields.hour == "*":
            return every
        if window is None or window[2] != 1:
            spans = [f"from {low:02}:00 through {high:02}:{60 - step:02}" for low, high in runs(fields.hours)]
            return f"{every} {listed(spans)}" if len(spans) <= _MAX_SPANS else None
        return f"{every} from {window[0]:02}:00 through {window[1]:02}:{60 - step:02}"
    starred = _step(fields.hour, 24)
    if starred == 1 or (starred and len(fields.minutes) > 1):
        every = "Every hour" if starred == 1 else f"Every {starred} hours"
        return f"{every} {'on the hour' if fields.minutes == [0] else f'at {_numbers("minute", fields.minutes)}'}"
    if window is None or not fields.minute.isdecimal() or window[0] == window[1]:
        return None
    first, final, hours = window
    minute = fields.minutes[0]
    every = "Every hour" if hours == 1 else f"Every {hours} hours"
    return f"{every} from {first:02}:{minute:02} through {final:02}:{minute:02}"


def _step(text: str, size: int) -> int | None:
    """Return the step of `*/15`, 1 for `*`; None for anything else and for steps that end unevenly."""
    if text == "*":
        return 1
    step = int(text[2:]) if text.startswith("*/") and text[2:].isdecimal() else 0
    return step if step and size % step == 0 and step < size else None


def _hour_window(fields: _Fields) -> tuple[int, int, int] | None:
    """Return first hour, last hour and step of `9-17`, `9-17/2`, `22-23,0-5` (overnight), `*/2`, `9`."""
    text, hours = fields.hour, fields.hours
    if text.startswith("*"):
        step = _step(text, 24)
        return None if step is None or text == "*" else (0, hours[-1], step)
    if text.isdecimal():
        return hours[0], hours[0], 1
    if "," not in text and "-" in text:
        step = int(text.partition("/")[2] or 1)
        # From 00:00 to the end of the day would be read as `*`, which is another rule when clocks change.
        whole_day = hours[0] == 0 and hours[-1] + step > 23 and 24 % step == 0
        return None if whole_day else (hours[0], hours[-1], step)
    parts = text.split(",")
    overnight = len(parts) == 2 and all(each.isdecimal() or ("-" in each and "/" not in each) for each in parts)
    if not overnight or hours[0] != 0 or hours[-1] != 23 or text.startswith("0,"):
        return None
    missing = sorted(set(range(24)) - set(hours))
    contiguous = missing and missing == list(range(missing[0], missing[-1] + 1))
    return (missing[-1] + 1, missing[0] - 1, 1) if contiguous else None


def _at(fields: _Fields) -> str:
    if _is_short(fields):
        return f"At {listed([f'{hour:02}:{minute:02}' for hour in fields.hours for minute in fields.minutes])}"
    hours = f"{'the ' if len(fields.hours) > 1 else ''}{_numbers('hour', fields.hours)}"
    return f"At {_numbers('minute', fields.minutes)} of {hours}"


def _is_short(fields: _Fields) -> bool:
    return len(fields.minutes) * len(fields.hours) <= _MAX_TIMES


def _numbers(what: str, values: list[int]) -> str:
    said = [f"{low}" if low == high else f"{low} through {high}" for low, high in runs(values)]
    return f"{what}{'s' if len(values) > 1 else ''} {listed(said)}"


def _days(fields: _Fields) -> str:
    """Say the days; empty if it is every day."""
    every_day = fields.day == "*" or len(fields.days) == 31
    every_weekday = fields.weekday == "*" or len(fields.weekdays) == 7
    both_match = fields.day.startswith("*") or fields.weekday.startswith("*")
    if (every_day and every_weekday) or (not both_match and (every_day or every_weekday)):
        return _in_months(fields)
    if every_day:
        return _weekdays_alone(fields)
    if every_weekday:
        return _month_days_alone(fields)
    dates = f"on the {_ordinals(fields.days)} of the month"
    if both_match:
        return f"{dates} if that is also {_any_weekday(fields)} {_in_months(fields)}".rstrip()
    names = "" if fields.nths and fields.weekdays else _weekdays(fields) if fields.weekdays else _nths(fields)
    months = f", {_in_months(fields)}" if len(fields.months) < 12 else ""
    return f"{dates}, or {names or _any_weekday(fields)}{months}"


def _in_weeks(fields: _Fields, weeks: Weeks, *, often: bool) -> str:
    """Say `every 2 weeks on Monday`, and in which weeks: one such day, the first of a fixed year."""
    first = weeks.first_monday(_FIRST_WEEK) + timedelta(days=fields.weekdays[0])
    named = "weekdays" if fields.weekdays == list(range(5)) else listed(_weekday_names(fields.weekdays))
    rhythm = f"every {weeks.every} weeks"
    said = f"on {named} {rhythm}" if often else f"{rhythm} on {named}"
    return f"{said}, as on {first.day} {MONTH_NAMES[first.month - 1]} {first.year}"


def _weekday_names(weekdays: list[int], plural: str = "") -> list[str]:
    names = [f"{each}{plural}" for each in WEEKDAY_NAMES]
    return [
        names[low % 7] if low == high else f"{names[low % 7]} through {names[high % 7]}" for low, high in runs(weekdays)
    ]


def _in_months(fields: _Fields) -> str:
    return f"in {month_spans(fields.months)}" if len(fields.months) < 12 else ""


def _of_months(fields: _Fields) -> str:
    return f"of every {month_spans(fields.months)}" if len(fields.months) < 12 else "of the month"


def _month_days_alone(fields: _Fields) -> str:
    if len(fields.months) == 1 and len(fields.days) == 1 and fields.days[0] > 0:
        return f"on {fields.days[0]} {month_spans(fields.months)} every year"
    return f"on the {_ordinals(fields.days)} {_of_months(fields)}"


def _ordinals(days: list[int]) -> str:
    said = [
        ordinal(low) if low == high else f"{ordinal(low)} through {ordinal(high)}"
        for low, high in runs(day for day in days if day > 0)
    ]
    said += ["last day"] * (CronSim.LAST in days)
    if CronSim.LAST_WEEKDAY in days:
        # Without "the", the 15th might be the 15th weekday.
        said += ["the last weekday" if said else "last weekday"]
    return listed(said)


def _weekdays_alone(fields: _Fields) -> str:
    if fields.nths and fields.weekdays:
        return f"{_weekdays(fields)} and {_nths(fields)} {_in_months(fields)}".rstrip()
    if fields.nths:
        return f"{_nths(fields).removesuffix(' of the month')} {_of_months(fields)}"
    return f"{_weekdays(fields)} {_in_months(fields)}".rstrip()


def _weekdays(fields: _Fields) -> str:
    if fields.weekdays == list(range(5)):
        return "on weekdays"
    # A run of days may go on after Sunday: nobody begins "Sunday to Thursday" on Monday.
    rest = next(day for day in range(8) if day not in fields.weekdays)
    days = [day if day > rest else day + 7 for day in fields.weekdays] if {0, 6} <= set(fields.weekdays) else None
    return f"on {listed(_weekday_names(days or fields.weekdays, 's'))}"


def _nths(fields: _Fields) -> str:
    if len({weekday for _, weekday in fields.nths}) == 1:
        return f"on the {listed([_rank(nth) for nth, _ in fields.nths])} {_WEEK[fields.nths[0][1]]} of the month"
    return f"on the {listed([_nth(*each) for each in fields.nths])} of the month"


def _nth(nth: int, weekday: int) -> str:
    return f"{_rank(nth)} {_WEEK[weekday]}"


def _rank(nth: int) -> str:
    return "last" if nth < 0 else ORDINAL_NAMES[nth - 1]


def _any_weekday(fields: _Fields) -> str:
    days = fields.weekdays
    names = ["a weekday"] if days == list(range(5)) else [f"a {WEEKDAY_NAMES[day]}" for day in days]
    names += [f"the {_nth(*each)} of the month" for each in fields.nths]
    return " or ".join(names)
