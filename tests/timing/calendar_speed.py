"""How long the next slot of a calendar takes to find: `python -m tests.timing.calendar_speed 20000 --seed 1`.

Random calendars in all zones, each asked for 10 slots in a row. Nothing is known of a calendar when it is asked first:
neither its months nor, for the first one there, the year of its zone. Times are processor time of the thread, with the
garbage collector waiting.
"""

import argparse
import gc
import json
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from time import thread_time_ns

from cronty.timing.calendar import Calendar
from tests.timing.__main__ import MINUTE, SINCE, UNTIL, Window, names
from tests.timing.calendars import calendars

SLOTS = 10
PER_WINDOW = 20
DAY = timedelta(days=1)


def some(count: int, seed: int) -> Iterator[tuple[Calendar, datetime]]:
    """Yield calendars, each with a moment shortly before it is likely to fire."""
    chance = random.Random(seed)
    for _ in range(count // PER_WINDOW):
        start = SINCE + chance.randrange((UNTIL - SINCE) // MINUTE) * MINUTE
        made = calendars(chance, Window(chance.choice(names()), start))
        for _ in range(PER_WINDOW):
            yield next(made)[0], start - DAY


def measure(count: int, seed: int) -> tuple[list[int], list[int], str]:
    """Return the nanoseconds of first and of later slots, and the calendar that took longest."""
    first: list[int] = []
    later: list[int] = []
    slowest, worst = "", 0
    for calendar, moment in some(count, seed):
        slot: datetime | None = moment
        for place in range(SLOTS):
            began = thread_time_ns()
            slot = calendar.after(slot)
            took = thread_time_ns() - began
            (later if place else first).append(took)
            if took > worst:
                slowest, worst = f"{calendar} at {place}", took
            if slot is None:
                break
    return first, later, slowest


def figures(times: list[int]) -> dict[str, float]:
    times = sorted(times)
    at = {"median": len(times) // 2, "p99": len(times) * 99 // 100, "worst": -1}
    return {name: round(times[place] / 1000, 1) for name, place in at.items()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.timing.calendar_speed", description="Time the next slot.")
    parser.add_argument("count", type=int, help="how many calendars")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    gc.disable()
    first, later, slowest = measure(asked.count, asked.seed)
    print(slowest[:600], file=sys.stderr)
    said = {"slots": len(first) + len(later), "seed": asked.seed, "unit": "µs"}
    print(json.dumps(said | {"all": figures(first + later), "first": figures(first), "later": figures(later)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
