"""Cron agrees with an independent minute-by-minute matcher, above all where clocks change."""

import random
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files

from cronty.timing import Cron, zone
from tests.timing.oracle import Tick, fires, transitions, walk

TICK = timedelta(microseconds=1)


@cache
def distinct_transitions() -> dict[tuple[datetime, timedelta, timedelta], list[str]]:
    """Every distinct change of offset from 2024 through 2029, with the zones that make it."""
    listed = (files("tzdata") / "zoneinfo" / "zone.tab").read_text(encoding="utf-8").splitlines()
    names = sorted({line.split("\t")[2] for line in listed if not line.startswith("#")})
    found: dict[tuple[datetime, timedelta, timedelta], list[str]] = {}
    for name in names:
        for change in transitions(zone(name), datetime(2024, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)):
            found.setdefault(change, []).append(name)
    return found


def list_or_range(chance: random.Random, low: int, high: int) -> str:
    first, second = sorted((chance.randint(low, high), chance.randint(low, high)))
    return chance.choice(
        [
            str(first),
            str(first),
            f"{first},{second}",
            f"{first}-{second}",
            f"{first}-{second}/{chance.randint(1, high)}",
            f"{first}-{first}/{chance.randint(1, high)}",
            f"{first}/{chance.randint(1, high)}",
        ]
    )


def days(chance: random.Random, near: datetime) -> str:
    month_day = chance.choice(
        ["*", "*", "*", "*/2", str(near.day), f"{near.day}-{near.day}", "L", "LW", "1-15", "16-31/3"]
    )
    month = chance.choice(["*", "*", "*", str(near.month), "*/2", "JAN-JUN,SEP-NOV"])
    weekday = chance.choice(
        ["*", "*", "*", "*/2", "0", "7", "SUN", "MON-FRI", "6-7", "1/2", "SUN#1", "0L", "7#4", "6#5,5L"]
    )
    return f"{month_day} {month} {weekday}"


def expression_near(chance: random.Random, wall: datetime) -> str:
    """An expression that is likely to fire within a few hours of this local time."""
    hours = [(wall.hour + each) % 24 for each in (-2, -1, 0, 1, 2, 3)]
    hour = chance.choice(
        [
            "*",
            "*/2",
            "*/3",
            str(chance.choice(hours)),
            str(chance.choice(hours)),
            list_or_range(chance, 0, 23),
        ]
    )
    minute = chance.choice(["*", "*/7", "*/10", "0", "15", "30", "45", list_or_range(chance, 0, 59)])
    return f"{minute} {hour} {days(chance, wall)}"


def disagreement(cron: Cron, ticks: list[Tick], chance: random.Random) -> str | None:
    """Compare `after`, `last` and `count` over the whole walk and over a part of it."""
    start, end = ticks[0].utc, ticks[-1].utc
    expected = fires(cron.expression, ticks)
    got: list[datetime] = []
    moment = cron.after(start - TICK)
    while moment is not None and moment <= end and len(got) <= len(ticks):
        got.append(moment)
        moment = cron.after(moment)
    if got != expected:
        wrong = sorted(set(got) ^ set(expected))[:3]
        return f"{cron}: after differs at {[str(each) for each in wrong]}"
    low, high = sorted((chance.choice(ticks).utc, chance.choice(ticks).utc))
    for since, until in ((start, end), (low, high)):
        inside = [slot for slot in expected if since <= slot <= until]
        if cron.count(since, until) != len(inside):
            return f"{cron}: count from {since} through {until} is not {len(inside)}"
        if cron.last(since, until) != (inside[-1] if inside else None):
            return f"{cron}: last from {since} through {until} is not {inside[-1:]}"
    return None


def disagreements_at_transitions(seed: int, per_transition: int) -> tuple[int, list[str]]:
    chance = random.Random(seed)
    cases, found = 0, list[str]()
    for (instant, before, _), names in distinct_transitions().items():
        name = chance.choice(names)
        ticks = walk(zone(name), instant - timedelta(hours=5), instant + timedelta(hours=19))
        wall = (instant + before).replace(tzinfo=None)
        for _ in range(per_transition):
            cases += 1
            if wrong := disagreement(Cron(expression_near(chance, wall), name), ticks, chance):
                found.append(wrong)
    return cases, found


def test_cron_agrees_with_the_oracle_at_every_transition_of_six_years() -> None:
    assert len(distinct_transitions()) > 250
    cases, found = disagreements_at_transitions(seed=1, per_transition=12)
    assert cases > 3000
    assert found == []


def test_cron_agrees_with_the_oracle_where_nothing_changes() -> None:
    chance = random.Random(2)
    for _ in range(8):
        start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=chance.randint(0, 2000))
        ticks = walk(zone("UTC"), start, start + timedelta(days=33))
        for _ in range(10):
            expression = f"{list_or_range(chance, 0, 59)} {list_or_range(chance, 0, 23)} {days(chance, start)}"
            assert disagreement(Cron(expression), ticks, chance) is None
