"""What an owner has is counted again before looking through the new jobs costs more than that."""

import asyncio

import asyncpg

from cronty.scheduler import Scheduler
from cronty.store.limit_store import FEWEST_UNCOUNTED
from tests.conftest import Hands, add
from tests.patience import PATIENCE


async def test_new_jobs_are_counted_before_there_are_many(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    for number in range(FEWEST_UNCOUNTED + 1):
        assert await sql.fetchval("select max(live_jobs) from cronty.owners") in (None, 0), number
        await add(door)
    assert await sql.fetchval("select max(live_jobs) from cronty.owners") == FEWEST_UNCOUNTED


async def test_of_calls_at_once_only_one_counts(door: Scheduler, hands: Hands, sql: asyncpg.Connection) -> None:
    for _ in range(FEWEST_UNCOUNTED):
        await add(door)
    async with sql.transaction():
        await sql.execute("lock table cronty.calendars")  # which the one that counts has to read
        calls = [asyncio.create_task(add(door)) for _ in range(4)]
        ended = asyncio.as_completed(calls, timeout=PATIENCE)
        for _ in calls[1:]:
            await next(ended)
    await asyncio.gather(*calls)
