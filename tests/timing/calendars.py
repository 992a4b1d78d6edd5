"""Random calendars near a local time, compared with the oracle; run as a command for as many as wanted."""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import islice
from time import monotonic
from typing import Any
from zoneinfo import ZoneInfo

from cronty.timing.calendar import Calendar, DayOff
from cronty.timing.calendar_json import calendar_from_json, calendar_to_json
from cronty.timing.errors import BadTrigger
from cronty.timing.named_calendar import NamedCalendar
from tests.timing.__main__ import GAPS, OVERLAPS, Change, Window, difference, windows
from tests.timing.calendar_oracle import NAMES, fires
from tests.timing.oracle import Walk, walk

FEWEST_PER_WINDOW = 50
DAY = timedelta(days=1)


def days_off(*off: DayOff, on: Collection[date] = ()) -> tuple[NamedCalendar, ...]:
    """A list of these days, if there are any."""
    found = NamedCalendar({day: why for day, why in off if day not in on}, frozenset(on))
    return (found,) if found.off or found.on else ()


@dataclass(slots=True)
class Report:
    """What a run covered and found."""

    cases: int = 0
    slots: int = 0
    changes: set[Change] = field(default_factory=set[Change])
    zones: set[str] = field(default_factory=set[str])
    kinds: Counter[str] = field(default_factory=Counter[str])
    differences: list[str] = field(default_factory=list[str])


def some_times(chance: random.Random, near: datetime) -> list[str]:
    hours = [(near.hour + each) % 24 for each in (-2, -1, -1, 0, 0, 1, 2, chance.randrange(24))]
    found = [
        f"{chance.choice(hours):02}:{chance.choice([0, 0, 15, 30, 45, chance.randrange(60)]):02}"
        for _ in range(chance.choice([1, 1, 2, 3]))
    ]
    if chance.random() < 0.35:
        low, high = sorted((chance.choice(hours) * 60 + chance.randrange(60), chance.randrange(1440)))
        if low < high:
            step = min(chance.choice([7, 10, 15, 30, 45, 60, 90, chance.randint(1, 300)]), high - low)
            span = f"{low // 60:02}:{low % 60:02}-{high // 60:02}:{high % 60:02}/{step}"
            found = [span] if chance.random() < 0.5 else [*found, span]
    return found


def some_days(chance: random.Random, near: date) -> dict[str, Any]:
    found: dict[str, Any] = {}
    kind = chance.random()
    if kind < 0.15:
        return found
    if kind < 0.35:
        found["weekdays"] = chance.sample(NAMES, chance.randint(1, 7))
    elif kind < 0.5:
        nth = chance.choice([(near.day + 6) // 7, chance.choice([1, 2, 3, 4, 5, -1, -2, -5])])
        found["weekdays"] = [f"{nth}{NAMES[near.weekday()]}", *chance.sample(NAMES, chance.randint(0, 2))]
    elif kind < 0.7:
        found["days"] = [
            near.day,
            *chance.sample([1, 2, 15, 28, 29, 30, 31, -1, -2, -3, -30, -31], chance.randint(0, 4)),
        ]
    elif kind < 0.8:
        found["business_days"] = chance.sample([1, 2, 3, 10, 20, 22, 23, -1, -2, -15, -23], chance.randint(1, 4))
    else:
        found["weekdays"] = [NAMES[near.weekday()], *chance.sample(NAMES, chance.randint(0, 3))]
        found["days"] = [near.day, *chance.sample(range(1, 29), chance.randint(0, 15))]
    if chance.random() < 0.25:
        found["months"] = [near.month, *chance.sample(range(1, 13), chance.randint(0, 4))]
    return found


def some_rule(chance: random.Random, near: datetime) -> dict[str, Any]:
    rule = {"times": some_times(chance, near), **some_days(chance, near.date())}
    if chance.random() < 0.4:
        unit = chance.choice(["day", "week", "month", "year"])
        every = chance.choice([2, 3, chance.randint(2, {"day": 40, "week": 20, "month": 30, "year": 5}[unit])])
        back = {"day": 1, "week": 7, "month": 0, "year": 0}[unit] * every * chance.choice([0, 1, 1, 7])
        start = near.date() - back * DAY + chance.choice([0, 0, 0, 1, -3, chance.randint(-900, 20)]) * DAY
        if unit in ("month", "year"):
            months = (1 if unit == "month" else 12) * every * chance.choice([0, 1, 2])
            number = start.year * 12 + start.month - 1 - months
            start = start.replace(year=number // 12, month=number % 12 + 1, day=min(start.day, 28))
        rule |= {"every": every, "unit": unit, "since": start.isoformat()}
    return rule


def near_days(chance: random.Random, near: date, most: int, reach: int = 40) -> list[date]:
    return [
        near + chance.choice([0, 1, -1, chance.randint(-reach, reach)]) * DAY for _ in range(chance.randint(1, most))
    ]


def some_calendar(chance: random.Random, near: datetime, zone_name: str) -> dict[str, Any]:
    """Return what is likely to fire within a few hours of this local time."""
    day = near.date()
    found: dict[str, Any] = {
        "kind": "calendar",
        "zone": zone_name,
        "rules": [some_rule(chance, near) for _ in range(chance.choice([1, 1, 1, 2, 3, 8]))],
        "gap": chance.choice(GAPS),
        "overlap": chance.choice(OVERLAPS),
    }
    if chance.random() < 0.15:
        found["starts"] = (day + chance.choice([0, 0, 1, -1, -30]) * DAY).isoformat()
    if chance.random() < 0.15:
        found["ends"] = (day + chance.choice([0, 0, 1, -1, 30]) * DAY).isoformat()
    if found.get("starts", "") > found.get("ends", "9999"):
        del found["ends"]
    if chance.random() < 0.15:
        found["without"] = [each.isoformat() for each in near_days(chance, day, 8)]
        found["without"].append(f"{(day + 2 * DAY).isoformat()}/{(day + 9 * DAY).isoformat()}")
    if chance.random() < 0.3:
        found["instead"] = chance.choice(["next_business_day", "previous_business_day"])
    if chance.random() < 0.25:
        found["off"] = {each.isoformat(): "a day off" for each in near_days(chance, day, 12, 60)}
        found["on"] = [each.isoformat() for each in near_days(chance, day, 4, 20)]
    return found


def calendars(chance: random.Random, window: Window) -> Iterator[tuple[Calendar, str]]:
    """Yield triggers for a window, and what was said, forever; a rule that rests too long is none."""
    while True:
        said = some_calendar(chance, window.near, window.zone)
        try:
            calendar = calendar_from_json(said)
        except BadTrigger as bad:
            assert "in the next 10 years" in str(bad), (said, bad)  # noqa: PT017
            continue
        yield calendar, json.dumps(calendar_to_json(calendar))


def compare(cases: int, seed: int, *, talk: bool = False) -> Report:
    """Run that many cases, spread evenly over the windows; small runs keep to the first ones."""
    chance, report, begun = random.Random(seed), Report(), monotonic()
    all_windows = windows(chance)
    per_window = max(FEWEST_PER_WINDOW, -(-cases // len(all_windows)))
    for window in all_windows:
        walked = walk(ZoneInfo(window.zone), window.start, window.start + DAY)
        compare_window(window, walked, min(per_window, cases - report.cases), chance, report)
        if window.change:
            report.changes.add(window.change)
        if talk and report.cases // 50_000 > (report.cases - per_window) // 50_000:
            elapsed = f"{monotonic() - begun:.0f} s"
            print(f"{report.cases:,} cases, {len(report.differences)} differences, {elapsed}", file=sys.stderr)
        if report.cases >= cases:
            break
    return report


def compare_window(window: Window, walked: Walk, cases: int, chance: random.Random, report: Report) -> None:
    for calendar, text in islice(calendars(chance, window), cases):
        expected = fires(text, walked)
        report.slots += len(expected)
        report.kinds["moved by a gap"] += any(expected.values())
        report.kinds["fires" if expected else "rests"] += 1
        report.kinds["moved by a calendar"] += calendar.instead != "skip"
        if wrong := difference(calendar, walked, expected, chance):
            report.differences.append(f"{wrong} {text}")
    report.cases += cases
    report.zones.add(window.zone)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.timing.calendars", description="Compare with the oracle.")
    parser.add_argument("--cases", type=int, default=20_000, help="how many; 20,000 cover every distinct change")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    begun = monotonic()
    report = compare(asked.cases, asked.seed, talk=True)
    for wrong in report.differences[:20]:
        print(wrong, file=sys.stderr)
    line = {
        "cases": report.cases,
        "transitions": len(report.changes),
        "zones": len(report.zones),
        "slots": report.slots,
        "kinds": report.kinds,
        "differences": len(report.differences),
        "seconds": round(monotonic() - begun, 1),
    }
    print(json.dumps(line))
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
