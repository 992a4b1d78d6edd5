"""Workers are frozen past their lease and let go: others take over, and what the late ones report changes nothing."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Final

import asyncpg
import orjson

from chaos.fleet import Fleet, Worker, fleet
from chaos.load import EVERY_SLOT, Spec, ask, expected_runs, insert, run_id, until
from chaos.postgres import own_postgres
from chaos.verdict import Figures, Trace, broken, examine, read_traces
from cronty.store.migrate import migrate

_FINISHED: Final = "select count(*) >= $1 from cronty.runs where finished_at is not null"
_FIRING: Final = (
    "select count(*) > 0 from pg_stat_activity"
    " where wait_event_type = 'Lock' and query like '%insert into cronty.runs%'"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """`trials` is how many runs are in flight when their worker is frozen, in each round; `burst` how many jobs fire
    while workers are frozen at random for `seconds`; `held` how long a frozen worker may hold up what it has locked.
    """

    trials: int = 20
    rounds: int = 2
    burst: int = 2000
    seconds: float = 12.0
    held: float = 35.0
    lease: float = 2.0
    seed: int = 1


@dataclass(slots=True)
class Trial:
    """What is known so far; jobs are numbered on through all the parts."""

    url: str
    folder: Path
    plan: Plan
    expected: set[str] = field(default_factory=set[str])
    jobs: int = 0

    async def fire(self, specs: list[Spec]) -> set[str]:
        runs = expected_runs(specs, self.jobs + 1)
        await insert(self.url, specs, self.jobs + 1)
        self.jobs += len(specs)
        self.expected |= runs
        return runs

    async def settled(self, patience: float = 30) -> bool:
        return await until(self.url, _FINISHED, patience, len(self.expected))

    async def starts(self, runs: set[str], attempt: int, count: int, patience: float) -> list[Trace]:
        """The first `count` starts of these runs at or after `attempt`, or as many as there were in time."""
        ends = time.monotonic() + patience
        while True:
            found = [one for one in read_traces(self.folder) if one.run_id in runs and one.attempt >= attempt]
            if len(found) >= count or time.monotonic() > ends:
                return found
            await asyncio.sleep(0.05)


async def while_performing(trial: Trial, workers: Fleet) -> Figures:
    """Freeze the worker that performs most of the runs, wait until another has begun each of them again, let it go."""
    plan = trial.plan
    now = datetime.now(UTC)
    held = {"first": plan.lease + 2, "then": 0.1}
    longer = {"first": plan.lease + 2, "then": plan.lease + 3}  # still at it when the late outcome arrives
    specs = [
        Spec("hold" if number % 2 else "ahold", now, arguments=held if number % 4 < 2 else longer)
        for number in range(plan.trials)
    ]
    runs = await trial.fire(specs)
    begun = await trial.starts(runs, 1, plan.trials, 20)
    victim = _by_pid(workers, Counter(one.pid for one in begun).most_common(1)[0][0])
    frozen = {one.run_id for one in begun if one.pid == victim.pid}
    victim.freeze()
    frozen_at = time.monotonic()
    again = await trial.starts(frozen, 2, len(frozen), plan.lease + 15)
    victim.thaw()
    rows = await _superseded(trial, frozen)
    return {
        "trials": len(frozen),
        "not_taken_over": len(frozen) - len({one.run_id for one in again}),
        "takeovers": [one.at - frozen_at for one in again],
        "not_superseded": len(frozen) - rows,
        "stale_accepted": await _accepted_from(trial, frozen, victim.pid),
    }


async def _superseded(trial: Trial, frozen: set[str]) -> int:
    """How many of the runs have a superseded attempt, once all are settled or it has taken too long."""
    question = "select job_id, scheduled_for from cronty.attempts where outcome = 'superseded'"
    ends = time.monotonic() + 20
    while True:
        rows = {run_id(row["job_id"], row["scheduled_for"]) for row in await ask(trial.url, question)} & frozen
        if len(rows) == len(frozen) or time.monotonic() > ends:
            await trial.settled()
            return len(rows)
        await asyncio.sleep(0.1)


async def _accepted_from(trial: Trial, frozen: set[str], pid: int) -> int:
    """How many of the runs have the outcome of the attempt that was frozen."""
    rows = await ask(trial.url, "select job_id, scheduled_for, result::text from cronty.runs where state = 'done'")
    results = {run_id(row["job_id"], row["scheduled_for"]): orjson.loads(row["result"]) for row in rows}
    return sum(results[name] == [1, pid] for name in frozen if name in results)


def _by_pid(workers: Fleet, pid: int) -> Worker:
    return next(worker for worker in workers.workers if worker.pid == pid)


async def while_firing(trial: Trial, *, warm: bool) -> Figures:
    """Freeze a worker that has locked due jobs and not committed: they must not wait until it thaws.

    A warm one has fired before and is caught between two statements. A cold one is caught between preparing its
    first statement and executing it, which PostgreSQL doesn't count as being idle.
    """
    with fleet(trial.url, trial.folder, lease=trial.plan.lease) as workers:
        [victim] = workers.start()
        await workers.ready()
        for _ in range(5 if warm else 0):
            await trial.fire([Spec("plain", datetime.now(UTC)) for _ in range(trial.plan.trials)])
            await trial.settled()
        async with runs_locked(trial.url):
            runs = await trial.fire([Spec("plain", datetime.now(UTC)) for _ in range(trial.plan.trials)])
            if not await until(trial.url, _FIRING, 20):
                raise RuntimeError(f"The worker didn't fire. Its last words:\n{workers.log[-3000:]}")
            victim.freeze()
        frozen_at = time.monotonic()
        workers.start()
        started = await trial.starts(runs, 1, len(runs), trial.plan.held)
        elsewhere = {one.run_id for one in started if one.pid != victim.pid}
        victim.thaw()
        await trial.settled()
        workers.retire()
    name = "warm" if warm else "cold"
    return {
        f"held_up_by_{name}": len(runs) - len(elsewhere),
        f"fired_in_place_of_{name}": round(max(one.at for one in started) - frozen_at, 2) if elsewhere else None,
    }


@asynccontextmanager
async def runs_locked(url: str) -> AsyncGenerator[None]:
    """Nobody can insert a run meanwhile, so whoever fires is caught in the middle of it."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("lock table cronty.runs in share mode")
            yield
    finally:
        await connection.close()


async def at_random(trial: Trial, workers: Fleet, chance: random.Random) -> Figures:
    """Freeze workers at any moment of a burst and of what follows, for less and for more than their lease."""
    plan = trial.plan
    now = datetime.now(UTC) + timedelta(seconds=0.5)
    specs = [
        Spec(
            chance.choice(("plain", "patient")),
            now + timedelta(seconds=0 if number % 2 else chance.random() * plan.seconds),
            policy=EVERY_SLOT,
            arguments={"seconds": round(chance.random() * 0.2, 3)},
        )
        for number in range(plan.burst)
    ]
    await trial.fire(specs)
    freezes = 0
    ends = time.monotonic() + plan.seconds
    while time.monotonic() < ends:
        await asyncio.sleep(chance.random() * 0.5)
        victim = chance.choice(workers.workers)
        victim.freeze()
        freezes += 1
        await asyncio.sleep(chance.random() * 2 * plan.lease)
        victim.thaw()
    return {"freezes": freezes, "settled_in_time": await trial.settled(60)}


async def thawed_works(trial: Trial, workers: Fleet) -> bool:
    """A worker that lost its lease goes on under a new one."""
    [only, *others] = workers.workers
    only.freeze()
    await asyncio.sleep(trial.plan.lease * 2)
    only.thaw()
    for other in others:
        other.kill()
    runs = await trial.fire([Spec("plain", datetime.now(UTC)) for _ in range(10)])
    return len(await trial.starts(runs, 1, len(runs), 20)) >= len(runs) and await trial.settled()


async def drive(url: str, folder: Path, plan: Plan) -> Figures:
    await migrate(url)
    trial = Trial(url, folder, plan)
    firing = await while_firing(trial, warm=True) | await while_firing(trial, warm=False)
    with fleet(url, folder, lease=plan.lease) as workers:
        workers.start(2)
        await workers.ready()
        rounds = [await while_performing(trial, workers) for _ in range(plan.rounds)]
        random_ones = await at_random(trial, workers, random.Random(plan.seed))
        works = await thawed_works(trial, workers)
        workers.retire()
    takeovers = [took for one in rounds for took in one["takeovers"]]
    return {
        "scenario": "freeze", "lease": plan.lease,
        **{name: sum(one[name] for one in rounds) for name in rounds[0] if name != "takeovers"},
        "takeover_p50": round(median(takeovers), 2), "takeover_max": round(max(takeovers), 2),
        **firing, **random_ones, "thawed_idle": int(not works), **await examine(url, folder, trial.expected),
    }  # fmt: skip


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres.url, folder, plan))
    own = ("not_taken_over", "not_superseded", "stale_accepted", "held_up_by_warm", "held_up_by_cold", "thawed_idle")
    return figures | {"broken": broken(figures, *own)}
