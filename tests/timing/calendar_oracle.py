"""A second opinion on calendars: the same walk over real minutes, and each day looked at for itself.

It reads the JSON form, and shares nothing with `cronty.timing`: lists of days of a month instead of bits, a look at
every day instead of arithmetic on months.
"""

import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from tests.timing.oracle import Faces, Walk, indexes, month_days

NAMES = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
DAY = timedelta(days=1)
FARTHEST = 31


@dataclass(frozen=True, slots=True)
class Said:
    """A calendar, read."""

    rules: tuple[dict[str, Any], ...]
    whole: dict[str, Any]
    without: frozenset[date]
    off: frozenset[date]
    on: frozenset[date]

    def is_open(self, day: date) -> bool:
        """Tell if the calendar as a whole may fire on a day."""
        early = "starts" in self.whole and day.isoformat() < self.whole["starts"]
        late = "ends" in self.whole and day.isoformat() > self.whole["ends"]
        return not early and not late and day not in self.without

    def is_business_day(self, day: date) -> bool:
        return day in self.on or (day.isoweekday() <= 5 and day not in self.off)

    def fires_on(self, rule: dict[str, Any], day: date) -> bool:
        """Tell if a rule has slots on a day, moved ones included."""
        if not self.is_open(day):
            return False
        instead = self.whole.get("instead", "skip")
        if instead == "skip":
            return self.names(rule, day)
        if not self.is_business_day(day):
            return False
        back = -DAY if instead == "next_business_day" else DAY
        if self.names(rule, day):
            return True
        # From this day on backwards: days that aren't business days are moved to it.
        source = day
        for _ in range(FARTHEST):
            source += back
            if self.is_business_day(source) and self.is_open(source):
                return False
            if not self.is_business_day(source) and self.names(rule, source):
                return True
        return False

    def names(self, rule: dict[str, Any], day: date) -> bool:
        return self.is_open(day) and all(
            (
                self.is_in_rhythm(rule, day),
                "months" not in rule or day.month in rule["months"],
                "days" not in rule or is_nth(day, month_days(day), rule["days"]),
                "weekdays" not in rule or any(is_weekday(each, day) for each in rule["weekdays"]),
                "business_days" not in rule
                or is_nth(day, [each for each in month_days(day) if self.is_business_day(each)], rule["business_days"]),
            )
        )

    def is_in_rhythm(self, rule: dict[str, Any], day: date) -> bool:
        if "since" not in rule:
            return True
        start = date.fromisoformat(rule["since"])
        apart = {
            "day": (day - start).days,
            "week": (monday(day) - monday(start)).days // 7,
            "month": (day.year - start.year) * 12 + day.month - start.month,
            "year": day.year - start.year,
        }[rule["unit"]]
        return day >= start and apart % rule["every"] == 0


def monday(day: date) -> date:
    return day - DAY * (day.isoweekday() - 1)


def is_nth(day: date, days: list[date], nths: list[int]) -> bool:
    return any(days[nth - 1 if nth > 0 else nth :][:1] == [day] for nth in nths if len(days) >= abs(nth))


def is_weekday(text: str, day: date) -> bool:
    name, nth = text[-2:], text[:-2]
    same = [each for each in month_days(day) if NAMES[each.weekday()] == name]
    return is_nth(day, same, [int(nth)]) if nth else day in same


@lru_cache(maxsize=1000)
def read(text: str) -> Said:
    whole: dict[str, Any] = json.loads(text)
    without: set[date] = set()
    for each in whole.get("without", []):
        first, _, final = each.partition("/")
        day, end = date.fromisoformat(first), date.fromisoformat(final or first)
        while day <= end:
            without.add(day)
            day += DAY
    return Said(
        tuple(whole["rules"]),
        whole,
        frozenset(without),
        frozenset(map(date.fromisoformat, whole.get("off", {}))),
        frozenset(map(date.fromisoformat, whole.get("on", []))),
    )


def named(said: Said, faces: Faces, *, spans: bool) -> int:
    """Return the set of minutes that the fixed times of a calendar name, or its spans."""
    found = 0
    for rule in said.rules:
        dates = 0
        for day, minutes in faces.dates.items():
            if said.fires_on(rule, day):
                dates |= minutes
        for minute in times(rule, spans=spans) if dates else ():
            found |= dates & faces.hours[minute // 60] & faces.minutes[minute % 60]
    return found


def times(rule: dict[str, Any], *, spans: bool) -> list[int]:
    found: list[int] = []
    for text in rule["times"]:
        span, slash, step = text.partition("/")
        if (bool(slash) and follows_minutes(span, int(step or 1))) != spans:
            continue
        first, _, final = span.partition("-")
        minute, end = minute_of(first), minute_of(final or first)
        while minute <= end:
            found.append(minute)
            minute += int(step or 1)
    return found


def follows_minutes(span: str, step: int) -> bool:
    """Every so many minutes, or every hour of the day; some hours of the day are times of the clock."""
    first, final = map(minute_of, span.split("-"))
    last = max(range(first, final + 1, step))
    return step % 60 > 0 or (first // 60 == 0 and last + step >= 24 * 60)


def minute_of(text: str) -> int:
    hour, _, minute = text.partition(":")
    return int(hour) * 60 + int(minute)


def fires(text: str, walked: Walk) -> dict[datetime, str]:
    """Return the minutes at which a calendar fires; those a gap moved there, with the time that was meant."""
    said = read(text)
    fixed, real = named(said, walked.faces, spans=False), named(said, walked.faces, spans=True)
    moved: dict[int, str] = {}
    if said.whole.get("overlap", "first") == "first":
        fixed &= ~walked.repeated
    slots = fixed | real
    if said.whole.get("gap", "run_after") == "run_after":
        for index, faces in walked.jumps.items():
            meant = named(said, faces, spans=False)
            if meant and not slots >> index & 1:
                moved[index] = str(faces.walls[next(indexes(meant))])
                slots |= 1 << index
    return {walked.at(index): moved.get(index, "") for index in indexes(slots)}
