"""Erasing the owner with the most jobs while a worker goes on firing everybody's."""

import asyncio
import time
from datetime import datetime, timedelta
from typing import Any, Final

from bench.fill import connected
from bench.lag import percentiles
from bench.recipe import BASE, HUGE, QUIET
from cronty.actions.tasks import Registry, current_run
from cronty.engine.engine import Engine, EngineOptions
from cronty.store.database import Database
from cronty.store.owner_store import OwnerStore

ALONE: Final = 45.0
"""Seconds in which the worker fires with nothing beside it. Cron jobs come due at full minutes: one falls in here."""


async def erase(url: str) -> dict[str, Any]:
    """How long it took, and how late others' runs started before and meanwhile, in seconds."""
    began = time.monotonic()

    def clock() -> datetime:
        return BASE + QUIET - timedelta(seconds=15) + timedelta(seconds=time.monotonic() - began)

    lags: list[float] = []

    def noop(**_arguments: object) -> None:
        lags.append((clock() - current_run().scheduled_for).total_seconds())

    registry = Registry()
    registry.add(noop)
    database = await Database(url, hot=True, clock=clock).open()
    engine = Engine(database, registry, EngineOptions())
    await engine.start()
    try:
        await asyncio.sleep(ALONE)
        before = list(lags)
        lags.clear()
        started = time.perf_counter()
        counts = await OwnerStore(database).erase(HUGE)
        took = time.perf_counter() - started
        meanwhile = list(lags)
        await asyncio.sleep(1)
    finally:
        await engine.stop()
        await database.close()
    assert counts is not None
    async with connected(url) as sql:
        left = await sql.fetchval(_LEFT, HUGE)
        late = await sql.fetchval(_LATE, clock() - timedelta(seconds=60))
    return {
        "seconds": round(took, 1), **counts, "left": left, "overdue": late,
        "before": {"fires": len(before), **(percentiles(before) if before else {})},
        "meanwhile": {"fires": len(meanwhile), **(percentiles(meanwhile) if meanwhile else {})},
    }  # fmt: skip


_LEFT: Final = "select count(*) from cronty.owners where name = $1"
_LATE: Final = "select count(*) from cronty.due where next_at < $1"
