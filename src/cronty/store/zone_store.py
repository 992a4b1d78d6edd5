"""The rules that jobs in each zone use, and moving the jobs when the rules change."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from cronty.store.database import Database, columns, query
from cronty.store.moving import move_jobs

EVERY_ENGINE_HAS_HEARD: Final = 90.0
"""Seconds after which no engine uses the old rules of a zone any more."""


class ZoneInUse(NamedTuple):
    """A zone that jobs use; `kept` means that a live worker has the tzdata version of its rules, or a newer one."""

    name: str
    rules: str
    version: str
    moving: bool
    kept: bool


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

    async def retime(self, rules: Mapping[str, str], batch: int) -> tuple[bool, int]:
        """Check the next `batch` jobs for those in these zones: whether these were the last, and how many moved.

        A job that another transaction has locked is checked again after the last one.
        """
        async with self._database.transaction() as connection:
            zones = await connection.fetch(query("zones_to_move"), list(rules), list(rules.values()))
            if not zones:
                return True, 0
            names = [row["name"] for row in zones]
            after = min(row["through"] for row in zones)
            window = await connection.fetchrow(query("jobs_after"), after, batch)
            assert window is not None
            moves, skipped = 0, None
            if window["last"] is not None:
                found = await connection.fetch(query("retime_lock"), after, window["last"], names)
                job_ids = [row["job_id"] for row in found if row["locked"]]
                skipped = min((row["job_id"] for row in found if not row["locked"]), default=None)
                moves = await move_jobs(connection, self._database.moment(), job_ids, "moved by a new zone database")
            ended = window["jobs"] < batch
            progress = (names, window["last"] or after, ended, EVERY_ENGINE_HAS_HEARD, skipped)
            await connection.execute(query("zones_moved"), self._database.moment(), *progress)
            return ended, moves
