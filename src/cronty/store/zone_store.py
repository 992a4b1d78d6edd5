"""What is remembered about versions of the zone database, and moving jobs from one to the next."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from cronty.store.database import Connection, Database, Row, columns, query


class Move(NamedTuple):
    """A job whose next slot is elsewhere now."""

    job_id: int
    owner_id: int
    old_slot: datetime
    new_slot: datetime | None
    last_slot: datetime | None


class ZoneStore:
    """One batch of retiming is one transaction: jobs moved, audit written and progress noted together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note_version(self, name: str) -> tuple[int, str]:
        """This version's number, and the newest version anybody has had."""
        row = await self._database.one("note_tzdata", name)
        assert row is not None
        return row["id"], row["newest"]

    async def retime(self, version: int, batch: int, decide: Callable[[Row], Move | None]) -> tuple[int, int] | None:
        """Look at the next `batch` jobs: how many there were, how many moved. None if there is nothing to do here."""
        async with self._database.transaction() as connection:
            through = await connection.fetchval(query("retiming"), version)
            if through is None:
                return None
            rows = await connection.fetch(query("retime_pick"), through, batch, version)
            moves = [move for row in rows if row["doubtful"] and (move := decide(row))]
            await self._save(connection, version, rows, moves, batch)
            return len(rows), len(moves)

    async def _save(
        self, connection: Connection, version: int, rows: Sequence[Row], moves: Sequence[Move], batch: int
    ) -> None:
        if moves:
            await connection.execute(query("retime_save"), self._database.moment(), version, *columns(moves, 5))
        last = max((row["job_id"] for row in rows), default=0)
        done = len(rows) < batch
        await connection.execute(query("retime_progress"), version, last, done)
