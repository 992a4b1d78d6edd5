"""One process at a time: what a single one has to do, among many that start at once."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.store.database import Database

PATIENCE: Final = 30.0
"""Seconds to wait for a process that may be frozen; then it is done beside it."""


@asynccontextmanager
async def one_at_a_time(database: Database, what: str) -> AsyncGenerator[None]:
    """Waits for its turn. The lock goes with its connection, so a process that dies holds up nobody."""
    async with database.listening() as connection:
        ends = monotonic() + PATIENCE
        while not await connection.fetchval("select pg_try_advisory_lock(hashtext($1))", f"cronty {what}"):
            if monotonic() > ends:
                telemetry.turn_not_given(what, PATIENCE)
                break
            await asyncio.sleep(0.05 + random.random() / 10)
        yield
