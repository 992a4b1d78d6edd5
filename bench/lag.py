"""How late runs start: many due at one instant, and one at a time in an idle system."""

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta

import asyncpg

from cronty.actions.tasks import Registry, current_run
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Ok
from cronty.engine.engine import Engine, EngineOptions
from cronty.scheduler import Scheduler
from cronty.store.database import Database
from cronty.store.job_store import JobStore
from cronty.store.migrate import migrate

ONCE = """
with o as (
  insert into cronty.owners (name) values ('burst') on conflict (name) do update set name = 'burst' returning id
), j as (
  insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
  select o.id, i, 'burst', 'stamp', '{"args": [], "kwargs": {}}', '{"kind": "once", "at": "2027-01-01T00:00:00+00:00"}',
    '{}', '{}', now(), now() from o, generate_series(1, $1::int) i returning id, owner_id)
insert into cronty.due (job_id, owner_id, next_at, serial) select id, owner_id, $2, true from j
"""


def percentiles(lags: list[float]) -> dict[str, float]:
    lags = sorted(lags)
    at = {"p50": 0.5, "p99": 0.99}
    return {name: round(lags[int(len(lags) * share)], 4) for name, share in at.items()} | {"max": round(lags[-1], 4)}


def stamping() -> tuple[Registry, list[float]]:
    """A task that notes how long after its slot it began."""
    lags: list[float] = []

    def stamp() -> None:
        lags.append(time.time() - current_run().scheduled_for.timestamp())

    registry = Registry()
    registry.add(stamp)
    return registry, lags


async def burst(url: str, runs: int) -> dict[str, object]:
    """`runs` jobs due at one instant, one worker."""
    await migrate(url)
    registry, lags = stamping()
    connection = await asyncpg.connect(url)
    due = datetime.now(UTC) + timedelta(seconds=3 + runs / 20_000)
    await connection.execute(ONCE, runs, due)
    await connection.execute("vacuum analyze cronty.due")
    database = await Database(url, hot=True).open()
    engine = Engine(database, registry, EngineOptions())
    await engine.start()
    async with asyncio.timeout(120):
        while len(lags) < runs:
            await asyncio.sleep(0.05)
    await engine.stop()
    lost = runs - await connection.fetchval("select count(*) from cronty.runs where state = 'done'")
    await connection.execute("truncate cronty.runs, cronty.due, cronty.jobs, cronty.workers cascade")
    await database.close()
    await connection.close()
    return {"what": "burst", "runs": runs, "lost": lost, "early": sum(lag < 0 for lag in lags), **percentiles(lags)}


async def idle(url: str, runs: int) -> dict[str, object]:
    """One job at a time, made through the door, at a moment of its own."""
    await migrate(url)
    registry, lags = stamping()
    database = await Database(url).open()
    hot = await Database(url, hot=True).open()
    engine = Engine(hot, registry, EngineOptions())
    await engine.start()
    door = Scheduler(JobStore(database))
    for number in range(runs):
        at = datetime.now(UTC) + timedelta(seconds=0.15 + random.random() / 10)
        request = ScheduleJob("idle", "stamp", "once", {"run_at": at})
        assert isinstance(await door.schedule(local_caller("idle"), request), Ok)
        async with asyncio.timeout(10):
            while len(lags) <= number:
                await asyncio.sleep(0.005)
    await engine.stop()
    await hot.close()
    await database.close()
    return {"what": "idle", "runs": runs, "early": sum(lag < 0 for lag in lags), **percentiles(lags)}
