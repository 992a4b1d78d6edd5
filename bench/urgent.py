"""Urgent runs under a backlog: how late they start while very many ordinary ones of the same owner are due and wait."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg

from bench.fair import DUE, LONGEST, PER_SECOND, stamping
from bench.lag import percentiles
from cronty.actions.tasks import Registry
from cronty.engine.engine import Engine, EngineOptions
from cronty.store.database import Database
from cronty.store.migrate import migrate

MARK = "update cronty.due d set urgent = true from cronty.jobs j where j.id = d.job_id and j.task = 'alarm'"


async def under(url: str, backlog: int, takes: float, *, urgent: bool) -> dict[str, object]:
    """`backlog` runs are due at once and take `takes` seconds each; ten others a second, urgent or not, until they are
    over, or for a minute."""
    await migrate(url)
    many: list[float] = []
    few: list[float] = []
    registry = Registry()
    registry.add(stamping(many, "work", takes))
    registry.add(stamping(few, "alarm", 0), priority="urgent" if urgent else None)
    connection = await asyncpg.connect(url)
    due = datetime.now(UTC) + timedelta(seconds=10 + backlog / 5_000)
    step = timedelta(seconds=1 / PER_SECOND)
    await connection.execute(DUE, "ann", "work", backlog, due, timedelta(0))
    # Another range of numbers, because these jobs are the same owner's.
    later = DUE.replace("select o.id, i,", f"select o.id, i + {backlog},")
    await connection.execute(later, "ann", "alarm", PER_SECOND * LONGEST, due + step / 2, step)
    if urgent:
        await connection.execute(MARK)
    await connection.execute("vacuum analyze cronty.due")
    database = await Database(url, hot=True).open()
    engine = Engine(database, registry, EngineOptions())
    await engine.start()
    while len(many) < backlog and datetime.now(UTC) < due + timedelta(seconds=LONGEST):
        await asyncio.sleep(0.02)
    took = (datetime.now(UTC) - due).total_seconds()
    expected = min(int(took * PER_SECOND), PER_SECOND * LONGEST)
    async with asyncio.timeout(120):
        while len(few) < expected:
            await asyncio.sleep(0.02)
    await connection.execute("update cronty.due set next_at = null where next_at is not null")
    await engine.stop()
    await connection.execute(
        "truncate cronty.runs, cronty.due, cronty.jobs, cronty.workers, cronty.queue, cronty.tasks cascade"
    )
    await database.close()
    await connection.close()
    return {
        "what": "urgent" if urgent else "ordinary", "backlog": backlog, "each_takes_s": takes, "took_s": round(took, 2),
        "backlog_started": len(many), "few": expected, **percentiles(few[:expected] or [0.0]),
    }  # fmt: skip
