"""Workers are killed one after the other and PostgreSQL under them: nothing is lost, doubled or repeated unlabelled."""

import asyncio
import random
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import asyncpg

from chaos.fleet import Fleet, Worker, fleet
from chaos.load import EVERY_SLOT, Spec, expected_runs, insert, until
from chaos.postgres import Postgres, own_postgres
from chaos.verdict import Figures, Trace, broken, examine, read_traces
from cronty.store.migrate import migrate

UNANSWERED: Final = 0.2
"""Seconds for which commits are made and not answered before PostgreSQL is killed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`duration` is how long slots fall due, `patience` how long after that they may take; seconds, both."""

    fires: int = 20_000
    workers: int = 4
    kill_every: float = 1.0
    restarts: int = 1
    duration: float = 30.0
    patience: float = 40.0
    lease: float = 5.0
    seed: int = 1


class Accepted(NamedTuple):
    """When PostgreSQL accepted connections again, by both clocks."""

    monotonic: float
    wall: datetime


def make_load(plan: Plan, start: datetime, chance: random.Random) -> list[Spec]:
    """A burst at the start, a stream, intervals of a second and, if there is a full minute in it, crons."""
    specs: list[Spec] = []
    fires = 0
    beats = max(2, min(1000, int(plan.duration * 0.7)))
    minute = start.replace(second=0, microsecond=0) + timedelta(minutes=1)
    minutes = (start + timedelta(seconds=plan.duration) - minute) // timedelta(minutes=1) + 1
    while fires < plan.fires:
        kind = chance.random() * plan.fires
        task = chance.choice(("plain", "patient", "patient", "flaky" if chance.random() < 0.2 else "plain"))
        arguments = {"seconds": round(chance.random() ** 2 * 0.3, 3)}
        policy = dict(EVERY_SLOT) | ({"attempts": 3, "backoff": 1} if task == "flaky" else {})
        at = start + timedelta(microseconds=int(chance.random() * plan.duration * 1e6))
        if fires < plan.fires // 4:
            spec = Spec(task, start, policy=policy, arguments=arguments)
        elif minutes > 0 and kind < 10:
            spec = Spec(task, minute, minutes, timedelta(minutes=1), True, policy, arguments)
        elif chance.random() < 0.05:
            begin = start + timedelta(microseconds=int(chance.random() * plan.duration * 0.2e6))
            queued = {"overlap": "queue"} if chance.random() < 0.3 else {}
            spec = Spec(task, begin, beats, policy=policy | queued, arguments=arguments)
        else:
            spec = Spec(task, at, policy=policy, arguments=arguments)
        specs.append(spec)
        fires += spec.count
    return specs


async def torment(workers: Fleet, plan: Plan, chance: random.Random, ends: float) -> None:
    """kill -9 a worker every so often; whatever is gone is replaced."""
    next_kill = time.monotonic() + plan.kill_every
    while time.monotonic() < ends:
        await asyncio.sleep(0.1)
        if plan.kill_every > 0 and time.monotonic() >= next_kill:
            workers.kill_one(chance)
            next_kill += plan.kill_every
        workers.replace()


async def restart(postgres: Postgres, plan: Plan, begins: float) -> list[Accepted]:
    """kill -9 PostgreSQL at even distances; when it accepted again."""
    accepted: list[Accepted] = []
    for number in range(plan.restarts):
        at = begins + plan.duration * (number + 0.5) / plan.restarts
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        await wait_for_standby(postgres.url, "nobody")
        await asyncio.sleep(UNANSWERED)
        await asyncio.to_thread(postgres.kill)
        await asyncio.to_thread(postgres.start)
        await wait_for_standby(postgres.url, "")
        accepted.append(Accepted(time.monotonic(), datetime.now(UTC)))
    return accepted


async def wait_for_standby(url: str, name: str) -> None:
    """A commit that waits for a standby nobody has is durable but gets no answer: the worst moment to be killed at."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"alter system set synchronous_standby_names = '{name}'")
        await connection.execute("select pg_reload_conf()")
    finally:
        await connection.close()


def busy_again(accepted: list[Accepted], traces: list[Trace], workers: list[Worker]) -> list[float]:
    """Seconds from an accepting PostgreSQL until each worker that lived through it starts a slot that came later.

    Only later slots count: what was claimed before goes on without a database.
    """
    waits: list[float] = []
    by_worker = defaultdict[int, list[Trace]](list)
    for one in traces:
        by_worker[one.pid].append(one)
    for moment in accepted:
        for worker in workers:
            if not worker.started_at < moment.monotonic - 2 or worker.ended_at < moment.monotonic:
                continue
            starts = [one.at for one in by_worker[worker.pid] if one.slot > moment.wall]
            if starts or worker.ended_at > moment.monotonic + 5:
                waits.append(min(starts, default=float("inf")) - moment.monotonic)
    return waits


async def drive(postgres: Postgres, plan: Plan, folder: Path) -> Figures:
    chance = random.Random(plan.seed)
    await migrate(postgres.url)
    with fleet(postgres.url, folder, lease=plan.lease) as workers:
        workers.start(plan.workers)
        await workers.ready()
        specs = make_load(plan, datetime.now(UTC) + timedelta(seconds=2), chance)
        expected = expected_runs(specs)
        await insert(postgres.url, specs)
        begins = time.monotonic() + 2
        accepted, _ = await asyncio.gather(
            restart(postgres, plan, begins), torment(workers, plan, chance, begins + plan.duration)
        )
        settled = await until(
            postgres.url, "select count(*) >= $1 from cronty.runs where finished_at is not null", plan.patience,
            len(expected),
        )  # fmt: skip
        took = time.monotonic() - begins
        everyone = workers.past + workers.workers
        stubborn = workers.retire()
        waits = busy_again(accepted, read_traces(folder), everyone)
        return {
            "scenario": "kill", "jobs": len(specs), "settled_in_time": settled, "took": round(took, 1),
            "kills": workers.killed, "workers_died": workers.died, "restarts": len(accepted),
            "busy_again_p50": round(median(waits), 2) if waits else None,
            "busy_again_max": round(max(waits), 2) if waits else None, "stubborn": stubborn,
            **await examine(postgres.url, folder, expected),
        }  # fmt: skip


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres, plan, folder))
    return figures | {"broken": broken(figures)}
