"""One owner's crowd beside another owner's few: how late the few start, with and without turns of their own; and what
limits cost a fire."""

import asyncio
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any
from unittest.mock import patch

import asyncpg

from bench import fires
from bench.lag import percentiles
from cronty.actions.tasks import Registry, current_run
from cronty.engine.crowd import Crowd
from cronty.engine.engine import Engine, EngineOptions
from cronty.engine.limiting import Limiting
from cronty.jobs.limits import Limits
from cronty.store.database import Database
from cronty.store.migrate import migrate

DUE = """
with o as (
  insert into cronty.owners (name) values ($1) on conflict (name) do update set name = $1 returning id
), j as (
  insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
  select o.id, i, $1, $2, '{"args": [], "kwargs": {}}', '{"kind": "once", "at": "2027-01-01T00:00:00+00:00"}',
    '{}', '{}', now(), now() from o, generate_series(1, $3::int) i returning id, owner_id)
insert into cronty.due (job_id, owner_id, next_at, serial)
select id, owner_id, $4::timestamptz + (row_number() over (order by id) - 1) * $5::interval, true from j
"""
PER_SECOND = 10
LONGEST = 60


def stamping(lags: list[float], name: str, takes: float) -> Callable[..., object]:
    """A task that notes how late it began, and takes its time."""

    def quick() -> None:
        lags.append(time.time() - current_run().scheduled_for.timestamp())

    async def slow() -> None:
        quick()
        await asyncio.sleep(takes)

    made: Callable[..., object] = slow if takes else quick
    made.__name__ = name
    return made


def nobody(_crowd: Crowd) -> frozenset[int]:
    return frozenset()


async def meanwhile(url: str, crowd: int, takes: float, *, fair: bool) -> dict[str, object]:
    """`crowd` slots of one owner due at once, `takes` seconds each; another's ten a second until they are over."""
    await migrate(url)
    many: list[float] = []
    few: list[float] = []
    registry = Registry()
    registry.add(stamping(many, "many", takes))
    registry.add(stamping(few, "few", 0))
    connection = await asyncpg.connect(url)
    due = datetime.now(UTC) + timedelta(seconds=3 + crowd / 20_000)
    await connection.execute(DUE, "greedy", "many", crowd, due, timedelta(0))
    step = timedelta(seconds=1 / PER_SECOND)
    await connection.execute(DUE, "modest", "few", PER_SECOND * LONGEST, due + step / 2, step)
    await connection.execute("vacuum analyze cronty.due")
    database = await Database(url, hot=True).open()
    engine = Engine(database, registry, EngineOptions())
    with patch.object(Crowd, "turn", Crowd.turn if fair else nobody):
        await engine.start()
        async with asyncio.timeout(LONGEST + 60):
            while len(many) < crowd and datetime.now(UTC) < due + timedelta(seconds=LONGEST):
                await asyncio.sleep(0.02)
        took = (datetime.now(UTC) - due).total_seconds()
        expected = min(int(took * PER_SECOND), PER_SECOND * LONGEST)
        async with asyncio.timeout(60):
            while len(few) < expected:
                await asyncio.sleep(0.02)
        seen = few[:expected]
        await connection.execute("update cronty.due set next_at = null where next_at is not null")
        await engine.stop()
    await connection.execute("truncate cronty.runs, cronty.due, cronty.jobs, cronty.workers, cronty.queue cascade")
    await database.close()
    await connection.close()
    return {
        "what": "fair" if fair else "first come first served", "crowd": crowd, "each_takes_s": takes,
        "crowd_took_s": round(took, 2), "crowd_started": len(many), "few": len(seen), **percentiles(seen or [0.0]),
    }  # fmt: skip


async def nothing(*_arguments: object) -> None: ...


async def cost(server: str, jobs: int, seconds: float, rounds: int) -> dict[str, object]:
    """Fires per second without limits, with the usual ones, and with every run of every owner counted; and, which moves
    less with what else the machine does, microseconds of Python and bytes of WAL per fire."""
    await fires.prepare(server, jobs)
    rows: dict[str, list[dict[str, float]]] = {"none": [], "usual": [], "every run counted": []}
    for turn in range(rounds):
        for name in list(rows) if turn % 2 == 0 else list(reversed(rows)):
            limits = Limits(runs_per_hour=10**9) if name == "every run counted" else Limits()
            off: dict[str, Any] = {"refresh": nothing, "hold": nothing} if name == "none" else {}

            async def how(url: str, limits: Limits = limits) -> float:
                return await fires.cronty(url, seconds, limits=limits)

            with patch.multiple(Limiting, **off) if off else nullcontext():
                rows[name].append(await fires.measure("bench_full", server, how))
    figures: dict[str, object] = {"what": "limits", "jobs": jobs, "rounds": rounds}
    for measured in ("fires_per_s", "python_us", "wal_per_fire"):
        medians = {name: median(row[measured] for row in some) for name, some in rows.items()}
        figures[measured] = medians
        figures[f"{measured}_ratio"] = {name: round(medians[name] / medians["none"], 3) for name in rows}
    return figures
