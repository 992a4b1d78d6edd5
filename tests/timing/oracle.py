"""A second opinion on cron: walk the real minutes one by one and apply Debian's rule as its manual states it.

Shares nothing with `cronty.timing` or cronsim: its own reading of the five fields, no arithmetic on offsets.
It looks at what the clock on the wall shows, remembers what it showed before, and notices what it jumped
over.

A walk is slow and knows no expression, so one walk serves many. It is kept as sets of minutes, one for each
thing a field can name (all minutes at which the wall showed :30, or hour 2, or 29 March). An expression is
then a union of a few such sets per field, and the intersection of its fields. The sets are bits of integers:
bit 0 is the first minute of the walk.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
LOOK_BACK = timedelta(hours=6)
NAMES = {
    name: number
    for names, start in (
        ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1),
        ("SUN MON TUE WED THU FRI SAT", 0),
    )
    for number, name in enumerate(names.split(), start)
}


class Faces:
    """What a wall clock showed, minute after minute: which of them showed a given minute, hour or date."""

    def __init__(self, walls: list[datetime]) -> None:
        self.walls = walls
        self.minutes = [0] * 60
        self.hours = [0] * 24
        self.dates: dict[date, int] = {}
        for index, wall in enumerate(walls):
            bit = 1 << index
            self.minutes[wall.minute] |= bit
            self.hours[wall.hour] |= bit
            self.dates[wall.date()] = self.dates.get(wall.date(), 0) | bit

    def named(self, reading: "Reading") -> int:
        """Return the set of minutes that an expression names."""
        minutes = hours = dates = 0
        for each in reading.minutes:
            minutes |= self.minutes[each]
        for each in reading.hours:
            hours |= self.hours[each]
        for day, bits in self.dates.items():
            if is_day(reading.days, day):
                dates |= bits
        return minutes & hours & dates


@dataclass(frozen=True, slots=True)
class Walk:
    """The real minutes from `start`: what they showed, which showed it again, and what was jumped over to get there."""

    start: datetime
    faces: Faces
    repeated: int
    jumps: dict[int, Faces] = field(default_factory=dict[int, Faces])

    @property
    def length(self) -> int:
        return len(self.faces.walls)

    @property
    def end(self) -> datetime:
        return self.at(self.length - 1)

    def at(self, index: int) -> datetime:
        return self.start + index * MINUTE


def walk(zone: ZoneInfo, start: datetime, end: datetime) -> Walk:
    """Walk every minute from `start` to `end`; hours before it are watched, to know what is repeated."""
    shown: set[datetime] = set()
    walls: list[datetime] = []
    repeated, jumps = 0, dict[int, Faces]()
    moment = start - LOOK_BACK
    before = moment.astimezone(zone).replace(tzinfo=None, fold=0) - MINUTE
    while moment <= end:
        wall = moment.astimezone(zone).replace(tzinfo=None, fold=0)
        skipped: list[datetime] = []
        while before + MINUTE < wall:
            before += MINUTE
            if before not in shown:
                skipped.append(before)
        if moment >= start:
            if skipped:
                jumps[len(walls)] = Faces(skipped)
            repeated |= (wall in shown) << len(walls)
            walls.append(wall)
        shown.add(wall)
        before = wall
        moment += MINUTE
    return Walk(start, Faces(walls), repeated, jumps)


def fires(expression: str, walked: Walk, gap: str = "run_after", overlap: str = "first") -> dict[datetime, str]:
    """Return the minutes at which cron starts the job; those a gap moved there, with the time that was meant."""
    reading = read(expression)
    slots = walked.faces.named(reading)
    moved: dict[int, str] = {}
    if reading.fixed and overlap == "first":
        slots &= ~walked.repeated
    if reading.fixed and gap == "run_after":
        for index, faces in walked.jumps.items():
            meant = faces.named(reading)
            if meant and not slots >> index & 1:
                moved[index] = str(faces.walls[next(indexes(meant))])
                slots |= 1 << index
    return {walked.at(index): moved.get(index, "") for index in indexes(slots)}


def indexes(bits: int) -> Iterator[int]:
    """Yield the members of a set, smallest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


@dataclass(frozen=True, slots=True)
class Reading:
    """An expression, read."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: tuple[str, str, str]
    fixed: bool


@lru_cache(maxsize=100_000)
def read(expression: str) -> Reading:
    minute, hour, day, month, weekday = expression.upper().split()
    fixed = not minute.startswith("*") and not hour.startswith("*")
    return Reading(values(minute, 0, 59), values(hour, 0, 23), (day, month, weekday), fixed)


@lru_cache(maxsize=100_000)
def is_day(days: tuple[str, str, str], day: date) -> bool:
    """Tell if the three day fields name this date."""
    day_text, month_text, weekday_text = days
    weekday_text, _, weeks = weekday_text.partition("%")
    if weeks and not is_in_week(weeks, day):
        return False
    if day.month not in values(month_text, 1, 12):
        return False
    month_day, week_day = is_month_day(day_text, day), is_week_day(weekday_text, day)
    if day_text.startswith("*") or weekday_text.startswith("*"):
        return month_day and week_day
    return month_day or week_day


@lru_cache(maxsize=10_000)
def values(text: str, low: int, high: int) -> frozenset[int]:
    """Return the numbers that a field without specials names."""
    return frozenset(number for item in text.split(",") for number in item_values(item, low, high))


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


def is_in_week(text: str, day: date) -> bool:
    """Tell if `2+1` keeps the week of this date: weeks begin on Monday, the one of 1970-01-01 is number 0."""
    every, _, wanted = text.partition("+")
    thursday = date.fromisocalendar(*day.isocalendar()[:2], 4)
    return (thursday - date(1970, 1, 1)) % timedelta(weeks=int(every)) == timedelta(weeks=int(wanted or 0))


@lru_cache(maxsize=10_000)
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
