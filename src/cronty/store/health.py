"""The state of the database, for the operator."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from cronty.jobs.frozen import Frozen
from cronty.store.database import Database, StoreUnavailable
from cronty.store.poolers import Way


@dataclass(frozen=True, slots=True)
class LimitStanding:
    """A limit of tasks: what is under way, what began within the last minute, and how many due runs wait."""

    name: str
    at_once: int | None
    per_minute: int | None
    held_until: datetime | None
    running: int
    starts: int
    tasks: list[str]
    waiting: int

    @property
    def has_room(self) -> bool:
        below = (self.at_once is None or self.running < self.at_once) and (
            self.per_minute is None or self.starts < self.per_minute
        )
        return below and self.held_until is None


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
    read_only: bool
    weeks: int
    connections: int
    locks_each: int
    max_connections: int
    frozen_at: datetime | None = None
    frozen_because: str | None = None
    way: Way = Way.DIRECT
    almighty: bool = False
    limits: tuple[LimitStanding, ...] = ()

    @property
    def frozen(self) -> Frozen | None:
        return None if self.frozen_at is None else Frozen(self.frozen_at, self.frozen_because or "")


async def look(url: str, direct: str | None = None) -> Health:
    """Read the state of the database; raises StoreUnavailable if it doesn't answer, or can't be used that way."""
    database = await Database(url, direct=direct, size=1, operator=True).open()
    try:
        row = await database.one("health")
        assert row is not None
        limits = await database.fetch("standing_of_limits", None)
        return Health(
            **dict(row),
            way=database.way,
            almighty=database.almighty,
            limits=tuple(LimitStanding(**dict(limit)) for limit in limits),
        )
    finally:
        await database.close()


async def why_not_writable(database: Database, within: float) -> str | None:
    """Why an open database can't be written to, or None if it can; it must answer `within` seconds."""
    try:
        async with asyncio.timeout(within):
            row = await database.for_the_operator().one("writable")
    except TimeoutError:
        database.start_over()  # so that the next caller doesn't wait for the same connection
        return f"PostgreSQL doesn't answer within {within:g} s."
    except StoreUnavailable:
        return "PostgreSQL can't be reached."  # strangers read this; the log says more
    assert row is not None
    if row["replica"]:
        return "PostgreSQL is a replica here: nothing can be written."
    return "PostgreSQL is read-only." if row["read_only"] else None
