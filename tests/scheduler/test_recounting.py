"""What an owner has is counted again before looking through the new jobs costs more than that."""

import asyncpg

from cronty.scheduler import Scheduler
from cronty.store.limit_store import FEWEST_UNCOUNTED
from tests.conftest import Hands, add


async def test_new_jobs_are_counted_before_there_are_many(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    for number in range(FEWEST_UNCOUNTED + 1):
        assert await sql.fetchval("select max(live_jobs) from cronty.owners") in (None, 0), number
        await add(door)
    assert await sql.fetchval("select max(live_jobs) from cronty.owners") == FEWEST_UNCOUNTED
