"""From a calendar to the recurrence rules of iCalendar, for programs that show them.

BYHOUR and BYMINUTE multiply, so times with other minutes take another line. BYSETPOS counts moments, not days, so
business days take a line for each time. Each line starts at its own first slot: then the units it counts are ours.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.calendar_json import WEEKDAYS
from cronty.timing.calendar_rule import CalendarRule, Span
from cronty.timing.errors import BadTrigger
from cronty.timing.localtime import instant_of
from cronty.timing.offsets import TICK

_FREQ: Final = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}


@dataclass(frozen=True, slots=True)
class Recurrence:
    """An RRULE without its name, the local time of its first slot, and the local times that are left out.

    `local` has its slots, those left out too, on an unbroken local clock, as if that were UTC.
    """

    start: datetime
    rrule: str
    without: tuple[datetime, ...]
    local: Calendar = field(repr=False, compare=False)


def to_rrules(calendar: Calendar, since: date) -> list[Recurrence]:
    """Return the lines that say what a calendar says, from a day on; one that RRULE can't say is refused by name."""
    if calendar.instead != "skip":
        raise _refused("slots that are moved to a business day")
    if calendar.has_lists and any(rule.business_days for rule in calendar.rules):
        raise _refused("business days by a named calendar")
    since = max(since, calendar.starts or since)
    off = {each.day for each in calendar.off}
    found: list[Recurrence] = []
    for rule in calendar.rules:
        _check(rule)
        for each in _halves(rule):
            for times in _products(rule):
                line = _recurrence(calendar, replace(each, times=times), since, off)
                if line is not None:
                    found.append(line)
    return found


def _check(rule: CalendarRule) -> None:
    if rule.business_days and (rule.days or rule.weekdays or rule.nths):
        raise _refused("business days together with other days")
    rhythmic = rule.every > 1
    if rhythmic and rule.unit in ("day", "week") and (rule.nths or rule.business_days):
        raise _refused(f"numbered weekdays in every {rule.every} {rule.unit}s")
    if rhythmic and rule.unit == "week" and rule.days:
        raise _refused("days of the month in every so many weeks")
    if rhythmic and rule.unit == "year" and rule.business_days and len(rule.months) > 1:
        raise _refused("business days of several months in every so many years")


def _halves(rule: CalendarRule) -> list[CalendarRule]:
    """Plain weekdays and numbered ones in one BYDAY are a union by the standard, and not to every program."""
    if not rule.weekdays or not rule.nths:
        return [rule]
    return [replace(rule, nths=()), replace(rule, weekdays=())]


def _products(rule: CalendarRule) -> list[tuple[int, ...]]:
    """Return the times in groups that are all hours of a list with all minutes of a list."""
    times = sorted(
        {
            minute
            for time in rule.times
            for minute in (range(time.start, time.end + 1, time.step) if isinstance(time, Span) else (time,))
        }
    )
    if rule.business_days:
        return [(time,) for time in times]
    minutes: dict[int, list[int]] = {}
    for time in times:
        minutes.setdefault(time // 60, []).append(time % 60)
    hours: dict[tuple[int, ...], list[int]] = {}
    for hour, within in minutes.items():
        hours.setdefault(tuple(within), []).append(hour)
    return [tuple(hour * 60 + minute for hour in some for minute in within) for within, some in hours.items()]


def _recurrence(calendar: Calendar, rule: CalendarRule, since: date, off: set[date]) -> Recurrence | None:
    # In UTC no clock changes: its slots are local times.
    alone = Calendar((rule,), starts=since, ends=calendar.ends)
    first = alone.after(datetime(since.year, since.month, since.day, tzinfo=UTC) - TICK)
    if first is None:
        return None
    parts = [f"FREQ={_freq(rule)}"]
    if rule.every > 1:
        parts.append(f"INTERVAL={rule.every}")
    if rule.months:
        parts.append(f"BYMONTH={_listed(rule.months)}")
    if rule.days:
        parts.append(f"BYMONTHDAY={_listed(rule.days)}")
    if rule.weekdays or rule.nths:
        names = [WEEKDAYS[day] for day in rule.weekdays] + [f"{nth}{WEEKDAYS[day]}" for nth, day in rule.nths]
        parts.append(f"BYDAY={','.join(names)}")
    if rule.business_days:
        parts += ["BYDAY=MO,TU,WE,TH,FR", f"BYSETPOS={_listed(rule.business_days)}"]
    minutes = [time for time in rule.times if isinstance(time, int)]
    parts.append(f"BYHOUR={_listed(sorted({time // 60 for time in minutes}))}")
    parts.append(f"BYMINUTE={_listed(sorted({time % 60 for time in minutes}))}")
    if calendar.ends is not None:
        parts.append(f"UNTIL={_until(calendar.ends, calendar.zone)}")
    days = sorted({*calendar.without, *off})
    without = [
        slot
        for day in days
        if day >= first.date()
        for slot in (datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=each) for each in minutes)
        if alone.last(slot, slot) is not None
    ]
    return Recurrence(
        first.replace(tzinfo=None),
        ";".join(parts),
        tuple(slot.replace(tzinfo=None) for slot in sorted(without)),
        alone,
    )


def _freq(rule: CalendarRule) -> str:
    if rule.every > 1:
        return _FREQ[rule.unit]
    return "MONTHLY" if rule.nths or rule.days or rule.business_days else "WEEKLY" if rule.weekdays else "DAILY"


def _until(day: date, zone_name: str) -> str:
    """The last second of a day, in UTC, as the standard asks for."""
    at = instant_of(datetime(day.year, day.month, day.day, 23, 59, 59), zone_name).at  # noqa: DTZ001
    return f"{at:%Y%m%dT%H%M%SZ}"


def _listed(values: tuple[int, ...] | list[int]) -> str:
    return ",".join(map(str, values))


def _refused(what: str) -> BadTrigger:
    return BadTrigger(f"RRULE can't say {what}", "Take the slots one by one.")
