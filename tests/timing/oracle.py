"""A second opinion on cron: walk the real minutes one by one and apply Debian's rule as its manual states it.

Shares nothing with `cronty.timing` or cronsim: its own reading of the five fields, no arithmetic on offsets.
It looks at what the clock on the wall shows, remembers what it showed before, and notices what it jumped
over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
NAMES = {
    name: number
    for names, start in (
        ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1),
        ("SUN MON TUE WED THU FRI SAT", 0),
    )
    for number, name in enumerate(names.split(), start)
}


@dataclass(frozen=True, slots=True)
class Tick:
    """One real minute: what the wall shows, if it showed that before, and what it jumped over to get here."""

    utc: datetime
    wall: datetime
    repeated: bool
    skipped: tuple[datetime, ...]


def walk(zone: ZoneInfo, start: datetime, end: datetime) -> list[Tick]:
    """Return every minute from `start` to `end`; hours before it are watched, to know what is repeated."""
    ticks: list[Tick] = []
    shown: set[datetime] = set()
    moment = start - timedelta(hours=6)
    before = moment.astimezone(zone).replace(tzinfo=None, fold=0) - MINUTE
    while moment <= end:
        wall = moment.astimezone(zone).replace(tzinfo=None, fold=0)
        skipped: list[datetime] = []
        while before + MINUTE < wall:
            before += MINUTE
            if before not in shown:
                skipped.append(before)
        if moment >= start:
            ticks.append(Tick(moment, wall, wall in shown, tuple(skipped)))
        shown.add(wall)
        before = wall
        moment += MINUTE
    return ticks


def fires(expression: str, ticks: list[Tick]) -> list[datetime]:
    """Return the minutes of the walk at which cron starts the job."""
    minute_text, hour_text, day_text, month_text, weekday_text = expression.upper().split()
    minutes, hours, months = values(minute_text, 0, 59), values(hour_text, 0, 23), values(month_text, 1, 12)
    either = not day_text.startswith("*") and not weekday_text.startswith("*")
    fixed = not minute_text.startswith("*") and not hour_text.startswith("*")
    days: dict[date, bool] = {}

    def named(wall: datetime) -> bool:
        if wall.minute not in minutes or wall.hour not in hours:
            return False
        day = wall.date()
        if day not in days:
            month_day, week_day = is_month_day(day_text, day), is_week_day(weekday_text, day)
            fits = (month_day or week_day) if either else (month_day and week_day)
            days[day] = fits and day.month in months
        return days[day]

    if not fixed:
        return [tick.utc for tick in ticks if named(tick.wall)]
    return [
        tick.utc
        for tick in ticks
        if (not tick.repeated and named(tick.wall)) or any(named(wall) for wall in tick.skipped)
    ]


def values(text: str, low: int, high: int) -> set[int]:
    """Return the numbers that a field without specials names."""
    return {number for item in text.split(",") for number in item_values(item, low, high)}


def item_values(item: str, low: int, high: int) -> Iterator[int]:
    span, _, step = item.partition("/")
    first, dash, final = span.partition("-")
    if span == "*":
        bounds = low, high
    elif dash:
        bounds = number(first), number(final)
    else:
        bounds = number(first), high if step else number(first)
    return (value for value in range(bounds[0], bounds[1] + 1) if (value - bounds[0]) % int(step or 1) == 0)


def number(text: str) -> int:
    return NAMES[text] if text in NAMES else int(text)


def is_month_day(text: str, day: date) -> bool:
    for item in text.split(","):
        if item == "L":
            found = day == month_days(day)[-1]
        elif item == "LW":
            found = day == [each for each in month_days(day) if each.isoweekday() <= 5][-1]
        else:
            found = day.day in values(item, 1, 31)
        if found:
            return True
    return False


def is_week_day(text: str, day: date) -> bool:
    for item in text.split(","):
        if item.endswith("L"):
            found = day == same_weekday(day, number(item[:-1]))[-1]
        elif "#" in item:
            name, _, nth = item.partition("#")
            found = day in same_weekday(day, number(name))[int(nth) - 1 : int(nth)]
        else:
            found = day.isoweekday() % 7 in {each % 7 for each in values(item, 0, 7)}
        if found:
            return True
    return False


def month_days(day: date) -> list[date]:
    first = day.replace(day=1)
    around = (first + timedelta(days=each) for each in range(31))
    return [each for each in around if each.month == day.month]


def same_weekday(day: date, weekday: int) -> list[date]:
    return [each for each in month_days(day) if each.isoweekday() % 7 == weekday % 7]


def transitions(zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[tuple[datetime, timedelta, timedelta]]:
    """Yield each instant at which the zone's offset changes, with the offsets before and after."""
    moment, offset = start, start.astimezone(zone).utcoffset()
    while moment < end:
        later = moment + timedelta(days=1)
        if later.astimezone(zone).utcoffset() != offset:
            while (after := moment.astimezone(zone).utcoffset()) == offset:
                moment += timedelta(minutes=15)
            assert offset is not None
            assert after is not None
            yield moment.astimezone(UTC), offset, after
            offset = after
        else:
            moment = later
