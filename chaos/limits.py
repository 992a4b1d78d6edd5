"""Very many runs of a task of which five may be under way, and of one that is limited by the minute, while workers are
killed: never more than that, measured where the tasks are performed; and none is lost."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from chaos.fleet import Fleet, fleet
from chaos.load import Spec, expected_runs, insert, until
from chaos.postgres import Postgres, own_postgres
from chaos.verdict import Figures, Trace, broken, examine, read_traces
from cronty.store.migrate import migrate

AT_ONCE: Final = 5
"""What `chaos.worker.narrow` says."""

WITHIN: Final = 0.02
"""How much more than the limit may begin within a minute: what was claimed begins a moment later, more or less."""

MINUTE: Final = 60.0
ONCE: Final = {"overlap": "allow", "attempts": 20}
SETTLED: Final = """
select not exists (select from cronty.due where next_at is not null)
  and not exists (select from cronty.runs where finished_at is null)"""


@dataclass(frozen=True, slots=True)
class Plan:
    """`patience` and `lease` are seconds."""

    narrow: int = 20_000
    asking: int = 300
    per_minute: int = 100
    workers: int = 4
    kill_every: float = 10.0
    patience: float = 600.0
    lease: float = 2.0
    seed: int = 1


def most_at_once(spans: Sequence[tuple[float, float]]) -> int:
    """How many of these spans of time there were at the same moment."""
    moves = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    inside = most = 0
    for _, step in moves:
        inside += step
        most = max(most, inside)
    return most


def most_within(moments: Sequence[float], length: float) -> int:
    """How many of these moments there are in any span of this length."""
    ordered = sorted(moments)
    most = first = 0
    for last, moment in enumerate(ordered):
        while moment - ordered[first] >= length:
            first += 1
        most = max(most, last - first + 1)
    return most


def spans_of(folder: Path, starts: Sequence[Trace], workers: Fleet) -> list[tuple[float, float]]:
    """When each start began and ended; with its worker, if that was killed."""
    ends: dict[tuple[str, int, int], float] = {}
    for path in folder.glob("*.ends"):
        for line in path.read_text().splitlines():
            run, attempt, pid, at = line.split()
            ends[run, int(attempt), int(pid)] = float(at)
    killed = {one.pid: one.ended_at for one in (*workers.past, *workers.workers)}
    return [(one.at, ends.get((one.run_id, one.attempt, one.pid), killed[one.pid])) for one in starts]


async def torment(workers: Fleet, plan: Plan, chance: random.Random, over: asyncio.Event) -> None:
    next_kill = time.monotonic() + plan.kill_every
    while not over.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 0.1)
        if plan.kill_every > 0 and time.monotonic() >= next_kill:
            workers.kill_one(chance)
            next_kill = time.monotonic() + plan.kill_every
        workers.replace()


async def drive(postgres: Postgres, plan: Plan, folder: Path) -> Figures:
    chance = random.Random(plan.seed)
    await migrate(postgres.url)
    now = datetime.now(UTC) - timedelta(seconds=1)
    jobs = [
        Spec(task, now, policy=ONCE, arguments={"seconds": round(chance.random() ** 3 * 0.05, 4)})
        for task, count in (("narrow", plan.narrow), ("asking", plan.asking))
        for _ in range(count)
    ]
    settings = {"CHAOS_PER_MINUTE": str(plan.per_minute)}
    with fleet(postgres.url, folder, lease=plan.lease, settings=settings) as workers:
        workers.start(plan.workers)
        await workers.ready()
        began = time.monotonic()
        await insert(postgres.url, jobs)
        over = asyncio.Event()
        tormenting = asyncio.create_task(torment(workers, plan, chance, over))
        settled = await until(postgres.url, SETTLED, plan.patience)
        took = time.monotonic() - began
        over.set()
        await tormenting
        stubborn = workers.retire()
        asking = {f"run_{number}" for number in range(plan.narrow + 1, len(jobs) + 1)}
        traces = read_traces(folder)
        asked = [one for one in traces if one.run_id.rpartition("_")[0] in asking]
        narrow = [one for one in traces if one.run_id.rpartition("_")[0] not in asking]
        most = most_at_once(spans_of(folder, narrow, workers))
        in_a_minute = most_within([one.at for one in asked], MINUTE)
        return {
            "scenario": "limits", "took": round(took, 1), "settled_in_time": settled, "kills": workers.killed,
            "workers_died": workers.died, "stubborn": stubborn, "most_at_once": most, "most_in_a_minute": in_a_minute,
            "asked_per_minute": round(pace(asked), 1),
            "over_at_once": max(0, most - AT_ONCE),
            "over_in_a_minute": max(0, in_a_minute - int(plan.per_minute * (1 + WITHIN))),
            **await examine(postgres.url, folder, expected_runs(jobs)),
        }  # fmt: skip


def pace(asked: Sequence[Trace]) -> float:
    """How many began in a minute: those before the last minute's worth, by the time until that began."""
    moments = sorted(one.at for one in asked)
    later = [one for one in moments if moments and one - moments[0] >= MINUTE]
    return (len(moments) - len(later)) / (later[0] - moments[0]) * MINUTE if later else 0.0


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres, plan, folder))
    return figures | {"broken": broken(figures, "over_at_once", "over_in_a_minute")}
