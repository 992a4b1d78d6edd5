"""What an operator wants to know about the database, in one look."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from cronty.store.database import Database, StoreUnavailable


@dataclass(frozen=True, slots=True)
class Health:
    version_number: int
    version: str
    now: datetime
    workers: int
    dead_workers: int
    tzdata: list[str] | None
    oldest_overdue: datetime | None
    stale_queue: int
    stale_tasks: list[str] | None
    set_aside: int
    walled: bool
    read_only: bool


async def look(url: str) -> Health:
    """Ask the database how it is; raises StoreUnavailable if it doesn't answer."""
    database = await Database(url, size=1, operator=True).open()
    try:
        row = await database.one("health")
        assert row is not None
        return Health(**dict(row))
    finally:
        await database.close()


async def why_not_writable(database: Database, within: float) -> str | None:
    """Why an open database takes no writes now, or None if it does; it has so many seconds to answer."""
    try:
        async with asyncio.timeout(within):
            row = await database.for_the_operator().one("writable")
    except TimeoutError:
        database.start_over()  # the next one who asks shouldn't have to wait for the same connection
        return f"PostgreSQL doesn't answer within {within:g} s."
    except StoreUnavailable as away:
        return str(away)
    assert row is not None
    if row["replica"]:
        return "PostgreSQL is a replica here: nothing can be written."
    return "PostgreSQL is read-only." if row["read_only"] else None
