"""What a worker and the server spend in a minute in which nothing is due."""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from bench.fill import connected
from bench.meter import Meter
from bench.recipe import BASE, QUIET
from cronty.actions.tasks import Registry
from cronty.engine.engine import Engine, EngineOptions
from cronty.store.database import Database

SETTLE = 10.0
"""Seconds after its start in which a worker still makes itself at home."""


def from_base() -> Callable[[], datetime]:
    """A clock that goes like any other, from BASE on."""
    began = time.monotonic()
    return lambda: BASE + timedelta(seconds=time.monotonic() - began)


async def minute(url: str, postmaster: int, seconds: float = 60, settle: float = SETTLE) -> dict[str, float]:
    """`url` is a filled database: for the first minutes after BASE nothing is due, and no zone has other rules."""
    assert seconds + settle < QUIET.total_seconds()
    async with connected(url) as sql:
        before = await sql.fetchval("select count(*) from cronty.runs where scheduled_for >= $1", BASE)
        meter = Meter(sql, postmaster)
        with meter.listening():
            database = await Database(url, hot=True, clock=from_base()).open()
            engine = Engine(database, Registry(), EngineOptions())
            try:
                await engine.start()
                await asyncio.sleep(settle)
                async with meter.reading() as cost:
                    await asyncio.sleep(seconds)
            finally:
                await engine.stop()
            await database.close()
        after = await sql.fetchval("select count(*) from cronty.runs where scheduled_for >= $1", BASE)
    assert after == before, "something was due in the idle minute"
    return {
        "statements": cost.statements, "round_trips": cost.round_trips, "pages": cost.pages,
        "python_cpu_s": round(cost.python_s, 3), "postgres_cpu_s": round(cost.postgres_s, 3),
    }  # fmt: skip
