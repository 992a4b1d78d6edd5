"""A cron expression as the rules of a calendar, for what can say only those."""

from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise

from cronty.timing.calendar import Calendar
from cronty.timing.calendar_rule import MAX_TIMES, CalendarRule, Span
from cronty.timing.cron import Cron
from cronty.timing.grammar import normalize
from cronty.timing.weeks import split_weeks


def as_calendar(cron: Cron, near: date, *, by_days_off: bool = False) -> Calendar | None:
    """Return a calendar that names the same days and times; None for what none can hold, or for very many times.

    What follows real minutes while clocks change becomes a span, if its times have one distance. A rhythm of weeks is
    counted from the last one before `near`, and has none before it. The last weekday of the month (`LW`) is a business
    day for what goes by days off, and held only for that.
    """
    plain_text, weeks = split_weeks(normalize(cron.expression))
    minutes, hours, days, months, weekdays = plain_text.split()
    each = [hour * 60 + minute for hour in _numbers(hours, 0, 23) for minute in _numbers(minutes, 0, 59)]
    times: tuple[int | Span, ...] = tuple(each)
    steps = {later - earlier for earlier, later in pairwise(each)}
    if (minutes.startswith("*") or hours.startswith("*")) and len(steps) == 1:
        times = (Span(each[0], each[-1], steps.pop()),)
    if len(times) > MAX_TIMES or ("W" in days and (not by_days_off or weekdays.startswith("*/"))):
        return None
    plain = CalendarRule(times, months=() if months == "*" else tuple(_numbers(months, 1, 12)))
    if weeks is not None:
        since = weeks.first_monday(near - timedelta(weeks=weeks.every - 1))
        rhythm = replace(plain, every=weeks.every, unit="week", since=since, weekdays=_weekdays(weekdays))
        return Calendar((rhythm,), cron.zone, gap=cron.gap, overlap=cron.overlap)
    of_month = replace(plain, days=_month_days(days))
    if "LW" in days.split(","):
        last = replace(plain, business_days=(-1,))
        of_week = replace(plain, weekdays=_weekdays(weekdays), nths=_nths(weekdays))
        rules = tuple(rule for rule in (of_month, last, of_week) if rule.names_days)
        return Calendar(rules, cron.zone, gap=cron.gap, overlap=cron.overlap)
    of_week = replace(plain, weekdays=_weekdays(weekdays), nths=_nths(weekdays))
    if days.startswith("*") or weekdays.startswith("*"):
        rules = (replace(of_month, weekdays=of_week.weekdays, nths=of_week.nths),)
    else:  # either is enough
        rules = (of_month, of_week)
    return Calendar(rules, cron.zone, gap=cron.gap, overlap=cron.overlap)


def _month_days(field: str) -> tuple[int, ...]:
    if field == "*":
        return ()
    last = (-1,) if "L" in field.split(",") else ()
    return (*_numbers(",".join(item for item in field.split(",") if item not in ("L", "LW")), 1, 31), *last)


def _weekdays(field: str) -> tuple[int, ...]:
    """Cron counts from Sunday, calendars from Monday."""
    if field == "*":
        return ()
    plain = ",".join(item for item in field.split(",") if "#" not in item and "L" not in item)
    return tuple((day - 1) % 7 for day in _numbers(plain, 0, 7 if plain[:1] != "*" else 6))


def _nths(field: str) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for item in field.split(","):
        if "#" in item:
            day, nth = item.split("#")
            found.append((int(nth), (int(day) - 1) % 7))
        elif item.endswith("L"):
            found.append((-1, (int(item[:-1]) - 1) % 7))
    return tuple(found)


def _numbers(field: str, low: int, high: int) -> list[int]:
    found: set[int] = set()
    for item in field.split(",") if field else ():
        base, _, step = item.partition("/")
        first, _, final = base.partition("-")
        if base == "*":
            start, end = low, high
        else:
            start = int(first)
            end = int(final) if final else high if step else start
        found.update(range(start, end + 1, int(step or 1)))
    return sorted(found)
