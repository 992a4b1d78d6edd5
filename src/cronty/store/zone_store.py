"""The rules that jobs in each zone use, and moving the jobs when the rules change."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from cronty.store.database import Database, Row, columns, query

EVERY_ENGINE_HAS_HEARD: Final = 90.0
"""Seconds after which no engine uses the old rules of a zone any more."""


class ZoneInUse(NamedTuple):
    """A zone that jobs use; `kept` means that a live worker has the tzdata version of its rules, or a newer one."""

    name: str
    rules: str
    version: str
    moving: bool
    kept: bool


class Move(NamedTuple):
    """A job whose next slot has moved."""

    job_id: int
    owner_id: int
    old_slot: datetime
    new_slot: datetime | None
    last_slot: datetime | None


class ZoneStore:
    """One batch of retiming is one transaction: it moves the jobs, writes the trail and records the progress."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def zones(self) -> list[ZoneInUse]:
        rows = await self._database.fetch("zones_in_use", self._database.moment())
        return [ZoneInUse(**dict(row)) for row in rows]

    async def take(self, zones: Sequence[tuple[str, str, str]], version: str) -> None:
        """Give zones new rules: the name, the old rules and the new rules of each."""
        await self._database.change("take_zones", self._database.moment(), *columns(zones, 3), version)

    async def retime(
        self, rules: Mapping[str, str], batch: int, decide: Callable[[Row], Move | None]
    ) -> tuple[bool, int]:
        """Check the next `batch` jobs for those in these zones: whether these were the last, and how many moved."""
        async with self._database.transaction() as connection:
            zones = await connection.fetch(query("zones_to_move"), list(rules), list(rules.values()))
            if not zones:
                return True, 0
            names = [row["name"] for row in zones]
            after = min(row["through"] for row in zones)
            window = await connection.fetchrow(query("jobs_after"), after, batch)
            assert window is not None
            moves: list[Move] = []
            if window["last"] is not None:
                locked = await connection.fetch(query("retime_lock"), after, window["last"], names)
                rows = await connection.fetch(query("retime_pick"), [row["job_id"] for row in locked])
                moves = [move for row in rows if (move := decide(row))]
            if moves:
                await connection.execute(query("retime_save"), self._database.moment(), *columns(moves, 5))
            ended = window["jobs"] < batch
            progress = (names, window["last"] or after, ended, EVERY_ENGINE_HAS_HEARD)
            await connection.execute(query("zones_moved"), self._database.moment(), *progress)
            return ended, len(moves)
