"""Workers and their PostgreSQL are frozen together and woken, as a laptop is: nobody is dead, nothing runs twice."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil

from chaos.fleet import Fleet, fleet
from chaos.load import EVERY_SLOT, Spec, expected_runs, insert, until
from chaos.postgres import Postgres, own_postgres
from chaos.verdict import Figures, broken, examine
from cronty.store.migrate import migrate


@dataclass(frozen=True, slots=True)
class Plan:
    """Times are seconds. `asleep` leases pass while everything stands still; in between all are awake for `awake`."""

    times: int = 20
    asleep: float = 4.0
    awake: float = 5.0
    lease: float = 2.0
    workers: int = 3
    fires: int = 3000
    patience: float = 60.0
    seed: int = 1

    @property
    def duration(self) -> float:
        return self.times * (self.asleep * self.lease + self.awake)


def make_load(plan: Plan, start: datetime, chance: random.Random) -> list[Spec]:
    """Runs of up to two seconds, so that some are always under way when everything falls asleep."""
    return [
        Spec(
            chance.choice(("patient", "plain")),
            start + timedelta(microseconds=int(chance.random() * plan.duration * 1e6)),
            policy=EVERY_SLOT,
            arguments={"seconds": round(chance.random() * 2, 3)},
        )
        for _ in range(plan.fires)
    ]


def _send(pids: Iterable[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)


async def put_to_sleep(postgres: Postgres, workers: Fleet, plan: Plan) -> None:
    """PostgreSQL first and last, as far as that goes: nobody may see a server that doesn't answer."""
    server = psutil.Process(postgres.postmaster)
    for _ in range(plan.times):
        await asyncio.sleep(plan.awake)
        processes = [server.pid, *(child.pid for child in server.children(recursive=True))]
        everyone = [*(worker.pid for worker in workers.workers), *processes]
        _send(everyone, signal.SIGSTOP)
        await asyncio.sleep(plan.asleep * plan.lease)
        _send(reversed(everyone), signal.SIGCONT)


async def drive(postgres: Postgres, plan: Plan, folder: Path) -> Figures:
    chance = random.Random(plan.seed)
    await migrate(postgres.url)
    # More room than there are runs: none waits in a worker's line, so that every start is told at once.
    with fleet(postgres.url, folder, lease=plan.lease, concurrency=200) as workers:
        workers.start(plan.workers)
        await workers.ready()
        await asyncio.sleep(2 * plan.lease)  # until they may judge each other
        specs = make_load(plan, datetime.now(UTC) + timedelta(seconds=1), chance)
        expected = expected_runs(specs)
        await insert(postgres.url, specs)
        began = time.monotonic()
        await put_to_sleep(postgres, workers, plan)
        settled = await until(
            postgres.url, "select count(*) >= $1 from cronty.runs where finished_at is not null", plan.patience,
            len(expected),
        )  # fmt: skip
        took = time.monotonic() - began
        struck_off = workers.log.count("worker(s) gone")
        stubborn = workers.retire()
        return {
            "scenario": "suspend", "times": plan.times, "leases_asleep": plan.asleep, "settled_in_time": settled,
            "took": round(took, 1), "workers_died": workers.died, "struck_off": struck_off, "stubborn": stubborn,
            **await examine(postgres.url, folder, expected),
        }  # fmt: skip


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres, plan, folder))
    return figures | {"broken": broken(figures, "struck_off", "repeats", "quarantined", "workers_died", "stubborn")}
