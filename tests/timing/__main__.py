"""Cron against the oracle, for as many cases as one likes: `python -m tests.timing --cases 1000000 --seed 1`.

A case is one expression under one policy in one zone, over a day of real minutes around a change of that
zone's offset, or over a day without any. All of its slots are compared, as are counting, looking back, looking
from the middle, and what a moved slot says about itself. Every distinct change from 2024 through 2029 comes
first, then the same changes in the other zones that make them, old names included. No window has a case twice.
"""

import argparse
import json
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import islice
from time import monotonic
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim

from cronty.timing import BadTrigger, Cron, nominal, zone
from cronty.timing.calendar import Calendar
from cronty.timing.zoned import Gap, Overlap
from tests.timing.oracle import MINUTE, Walk, fires, read, transitions, walk

type Change = tuple[datetime, timedelta, timedelta]
type Peer = Callable[[str, datetime], Iterator[datetime]]

SINCE, UNTIL = datetime(2024, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)
WEEK_ZERO = datetime(1969, 12, 29)  # noqa: DTZ001
TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)
FEWEST_PER_WINDOW = 50
CHANGES_PER_ORDINARY_DAY = 9
PEER_CASES_PER_WINDOW = 20
PEER_SECONDS = 3
PEER_COUNTS = ("cases", "differences", "one too many", "one too few", "raised", "never answers")
# What cronsim and croniter read like us: no `a-a`, no steps but `*/n`, and in the day fields none of those either.
PLAIN = re.compile(r"(\*|\*/\d+|[\d,-]+) (\*|\*/\d+|[\d,-]+) (\*|\d+|1-15) (\*|\d+|JAN-JUN,SEP-NOV) (\*|0|SUN|MON-FRI)")
ONE_VALUE_RANGE = re.compile(r"\b(\d+)-\1\b")
GAPS: tuple[Gap, ...] = ("run_after", "skip")
OVERLAPS: tuple[Overlap, ...] = ("first", "both")


@dataclass(frozen=True, slots=True)
class Window:
    """A day of real minutes in a zone, and the change of offset in it, if any."""

    zone: str
    start: datetime
    change: Change | None = None

    @property
    def near(self) -> datetime:
        """The local time that expressions should aim at."""
        moment, offset = self.start + DAY / 2, self.start.astimezone(ZoneInfo(self.zone)).utcoffset()
        assert offset is not None
        return (self.change[0] if self.change else moment).replace(tzinfo=None) + offset


@dataclass(slots=True)
class Report:
    """What a run covered and found."""

    cases: int = 0
    slots: int = 0
    in_weeks: int = 0
    changes: set[Change] = field(default_factory=set[Change])
    zones: set[str] = field(default_factory=set[str])
    differences: list[str] = field(default_factory=list[str])
    kinds: Counter[str] = field(default_factory=Counter[str])
    peers: dict[str, dict[str, Counter[str]]] = field(default_factory=dict[str, dict[str, Counter[str]]])


@cache
def names() -> list[str]:
    """Return the zones of the package that a cron may have, old names included."""
    return [name for name in (files("tzdata") / "zones").read_text(encoding="utf-8").split() if accepted(name)]


def accepted(name: str) -> bool:
    try:
        zone(name)
    except BadTrigger:
        return False
    return True


@cache
def changes() -> dict[Change, list[str]]:
    """Return every distinct change of offset, with the zones that make it."""
    found: dict[Change, list[str]] = {}
    for name in names():
        for change in transitions(ZoneInfo(name), SINCE, UNTIL):
            found.setdefault(change, []).append(name)
    return found


def windows(chance: random.Random) -> list[Window]:
    """Return all changes in one of their zones, then again in the next; ordinary days in between."""
    orders = {change: chance.sample(zones, len(zones)) for change, zones in changes().items()}
    found: list[Window] = []
    for turn in range(max(map(len, orders.values()))):
        for change, zones in orders.items():
            if turn < len(zones):
                found.append(Window(zones[turn], change[0] - timedelta(hours=5), change))
            if len(found) % (CHANGES_PER_ORDINARY_DAY + 1) == 0:
                found.append(ordinary_day(chance))
    return found


def ordinary_day(chance: random.Random) -> Window:
    while True:
        name, start = chance.choice(names()), SINCE + chance.randrange((UNTIL - SINCE) // MINUTE) * MINUTE
        here = ZoneInfo(name)
        if (start - DAY).astimezone(here).utcoffset() == (start + DAY).astimezone(here).utcoffset():
            return Window(name, start)


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
    kind = chance.random()
    if kind < 0.5:
        return "* * *"
    if kind > 0.9:
        return f"* * {some_weeks(chance, near)}"
    month_day = chance.choice(
        ["*", "*", "*", "*/2", str(near.day), f"{near.day}-{near.day}", "L", "LW", "1-15", "16-31/3"]
    )
    month = chance.choice(["*", "*", "*", str(near.month), "*/2", "JAN-JUN,SEP-NOV"])
    weekday = chance.choice(
        ["*", "*", "*", "*/2", "0", "7", "SUN", "MON-FRI", "6-7", "1/2", "SUN#1", "0L", "7#4", "6#5,5L"]
    )
    return f"{month_day} {month} {weekday}"


def some_weeks(chance: random.Random, near: datetime) -> str:
    """Return a day-of-week with `%`; three in four include the week of that local time, or the one beside it."""
    named = chance.choice(["*", "*/2", "0", "7", "SUN", "SAT,SUN", "MON-FRI", "MON,WED", "6-7", "SUN,MON", "1/2"])
    every = chance.choice([2, 2, 2, 3, 4, chance.randint(2, 52)])
    week = (near.replace(tzinfo=None) - WEEK_ZERO).days // 7 + chance.choice([0, 0, 1, chance.randrange(every)])
    return f"{named}%{every}" + chance.choice([f"+{week % every}", f"+{week % every}", ""])


def expression_near(chance: random.Random, wall: datetime) -> str:
    """Return an expression that is likely to fire within a few hours of this local time."""
    hours = [(wall.hour + each) % 24 for each in (-2, -1, -1, 0, 0, 1, 2)]
    one, two = str(chance.choice(hours)), f"{chance.choice(hours)},{chance.choice(hours)}"
    hour = chance.choice(["*", "*/2", "*/3", one, one, one, two, two, list_or_range(chance, 0, 23)])
    minute = chance.choice(["*", "*/7", "*/10", "0", "0,30", "15", "30", "45", list_or_range(chance, 0, 59)])
    if minute == "*" and hour.startswith("*"):
        # 1,440 slots say little more than 60 do.
        hour = one if chance.random() < 0.9 else hour
    return f"{minute} {hour} {days(chance, wall)}"


def crons(chance: random.Random, window: Window) -> Iterator[Cron]:
    """Yield triggers for a window, each one once, forever."""
    seen: set[Cron] = set()
    while True:
        expression = expression_near(chance, window.near)
        cron = Cron(expression, window.zone, chance.choice(GAPS), chance.choice(OVERLAPS))
        if cron not in seen:
            seen.add(cron)
            yield cron


def difference(cron: Cron | Calendar, walked: Walk, expected: dict[datetime, str], chance: random.Random) -> str | None:
    """Compare a trigger with the oracle over a walk; say where they differ."""
    slots = list(expected)
    got = list(islice(following(cron, walked.start - TICK, walked.end), walked.length + 1))
    if got != slots:
        return f"{cron}: after differs at {[str(each) for each in sorted({*got} ^ {*slots})[:3]]}"
    moment = walked.start + chance.randrange(walked.length * 60) * timedelta(seconds=1)
    ahead = next((slot for slot in slots if slot > moment), None)
    if (found := cron.after(moment)) != ahead and (ahead or found is None or found <= walked.end):
        return f"{cron}: after {moment} is not {ahead}"
    low, high = sorted((chance.randrange(walked.length), chance.randrange(walked.length)))
    for since, until in ((walked.start, walked.end), (walked.at(low), walked.at(high))):
        inside = [slot for slot in slots if since <= slot <= until]
        if cron.count(since, until) != len(inside):
            return f"{cron}: count from {since} through {until} is not {len(inside)}"
        if cron.last(since, until) != (inside[-1] if inside else None):
            return f"{cron}: last from {since} through {until} is not {inside[-1:]}"
    for slot in [*slots[:5], *(slot for slot in slots if expected[slot])]:
        meant = nominal(cron, slot)
        if expected[slot] != (str(meant.replace(tzinfo=None)) if meant else ""):
            return f"{cron}: {slot} was moved from {expected[slot] or 'nowhere'}, not from {meant}"
    return None


def following(cron: Cron | Calendar, moment: datetime, end: datetime) -> Iterator[datetime]:
    slot = cron.after(moment)
    while slot is not None and slot <= end:
        yield slot
        slot = cron.after(slot)


def compare(cases: int, seed: int, peers: dict[str, Peer] | None = None, *, talk: bool = False) -> Report:
    """Run that many cases, spread evenly over the windows; small runs keep to the first ones."""
    chance, report, begun = random.Random(seed), Report(), monotonic()
    all_windows = windows(chance)
    per_window = max(FEWEST_PER_WINDOW, -(-cases // len(all_windows)))
    for window in all_windows:
        compare_window(window, min(per_window, cases - report.cases), chance, report, peers or {})
        if talk and report.cases // 50_000 > (report.cases - per_window) // 50_000:
            elapsed = f"{monotonic() - begun:.0f} s"
            print(f"{report.cases:,} cases, {len(report.differences)} differences, {elapsed}", file=sys.stderr)
        if report.cases >= cases:
            break
    return report


def compare_window(window: Window, cases: int, chance: random.Random, report: Report, peers: dict[str, Peer]) -> None:
    walked = walk(ZoneInfo(window.zone), window.start, window.start + DAY)
    left_for_peers = PEER_CASES_PER_WINDOW if peers else 0
    for cron in islice(crons(chance, window), cases):
        expected = fires(cron.expression, walked, cron.gap, cron.overlap)
        kind = kind_of(cron, walked)
        report.slots += len(expected)
        report.in_weeks += "%" in cron.expression
        report.kinds[kind] += 1
        if wrong := difference(cron, walked, expected, chance):
            report.differences.append(wrong)
        if left_for_peers and comparable(cron):
            left_for_peers -= 1
            ask_peers(cron, walked, expected, peers, kind, report)
    report.cases += cases
    report.zones.add(window.zone)
    if window.change:
        report.changes.add(window.change)


def comparable(cron: Cron) -> bool:
    """Tell if all libraries read the expression alike, and none is asked for a policy that it doesn't have."""
    usual = cron.gap == "run_after" and cron.overlap == "first"
    return usual and bool(PLAIN.fullmatch(cron.expression)) and not ONE_VALUE_RANGE.search(cron.expression)


def ask_peers(
    cron: Cron, walked: Walk, expected: dict[datetime, str], peers: dict[str, Peer], kind: str, report: Report
) -> None:
    for library, peer in peers.items():
        counts = report.peers.setdefault(library, {}).setdefault(kind, Counter(dict.fromkeys(PEER_COUNTS, 0)))
        counts["cases"] += 1
        start = (walked.start - MINUTE).astimezone(ZoneInfo(cron.zone))
        got: list[datetime] = []
        signal.setitimer(signal.ITIMER_REAL, PEER_SECONDS)
        try:
            for slot in islice(peer(cron.expression, start), walked.length + 1):
                if slot.astimezone(UTC) > walked.end:
                    break
                got.append(slot.astimezone(UTC))
        except TimeoutError:
            counts["never answers"] += 1
            print(f"{library} doesn't answer: {cron} from {start}, after {got[-1:]}", file=sys.stderr)
        except Exception:
            counts["raised"] += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if got != list(expected):
            counts["differences"] += 1
            counts["one too many"] += bool({*got} - {*expected})
            counts["one too few"] += bool({*expected} - {*got})


def kind_of(cron: Cron, walked: Walk) -> str:
    """Say what is hard about a case: a time that is jumped over or repeated, real minutes at a change, or nothing."""
    reading = read(cron.expression)
    if not walked.jumps and not walked.repeated:
        return "ordinary"
    if not reading.fixed:
        return "wildcard at a change"
    if any(faces.named(reading) for faces in walked.jumps.values()):
        return "fixed time in a gap"
    if walked.faces.named(reading) & walked.repeated:
        return "fixed time in an overlap"
    return "ordinary"


def cronsim(expression: str, start: datetime) -> Iterator[datetime]:
    return CronSim(expression, start)


def croniter(expression: str, start: datetime) -> Iterator[datetime]:
    library: Any = import_module("croniter")
    return library.croniter(expression, start, ret_type=datetime)


def peers_here() -> dict[str, Peer]:
    """Return the libraries to compare with; croniter is none of ours and has to be brought along."""
    try:
        import_module("croniter")
    except ImportError:
        sys.exit(
            "--peers needs croniter, which Cronty doesn't depend on. Install it into a scratch environment and put"
            " that on the path: uv venv /tmp/peers && VIRTUAL_ENV=/tmp/peers uv pip install croniter, then"
            " PYTHONPATH=/tmp/peers/lib/python3.13/site-packages python -m tests.timing --peers"
        )
    signal.signal(signal.SIGALRM, give_up)
    return {"cronsim": cronsim, "croniter": croniter}


def give_up(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.timing", description="Compare cron with the oracle.")
    parser.add_argument("--cases", type=int, default=20_000, help="how many; 20,000 cover every distinct change")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", action="store_true", help="also ask cronsim alone and croniter, where comparable")
    asked = parser.parse_args()
    begun = monotonic()
    report = compare(asked.cases, asked.seed, peers_here() if asked.peers else None, talk=True)
    for wrong in report.differences[:20]:
        print(wrong, file=sys.stderr)
    line: dict[str, object] = {
        "cases": report.cases,
        "transitions": len(report.changes),
        "zones": len(report.zones),
        "slots": report.slots,
        "in_weeks": report.in_weeks,
        "kinds": report.kinds,
        "differences": len(report.differences),
        "seconds": round(monotonic() - begun, 1),
    }
    print(json.dumps(line | ({"peers": report.peers} if asked.peers else {})))
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
