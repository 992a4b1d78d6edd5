"""What an operator wants to know about the database, in one look."""

from dataclasses import dataclass
from datetime import datetime

from cronty.store.database import Database


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


async def look(url: str) -> Health:
    """Ask the database how it is; raises StoreUnavailable if it doesn't answer."""
    database = await Database(url, size=1, operator=True).open()
    try:
        row = await database.one("health")
        assert row is not None
        return Health(**dict(row))
    finally:
        await database.close()
