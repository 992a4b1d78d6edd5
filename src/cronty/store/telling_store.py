"""The results that are told when a run has ended, and how that went."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from cronty.jobs.telling import TellingState
from cronty.store.database import Connection, Database, Row, columns, query


class Telling(NamedTuple):
    """How one try went. `wait` is how many seconds later it is tried again; None if it is over."""

    job_id: int
    slot: datetime
    tries: int
    state: TellingState
    wait: float | None
    failed: bool
    channel: str
    error: str | None
    digest: str | None


async def tell_runs(connection: Connection, now: datetime | None, runs: Sequence[tuple[int, datetime]]) -> None:
    """Have the results of runs told that were settled in this transaction, if their jobs want it."""
    if runs:
        await connection.execute(query("tell_runs"), now, *columns(runs, 2))


class TellingStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, most: int, lease: float, share: int, busy: Sequence[int]) -> list[Row]:
        """Results to tell now, at most `share` of an owner and none of those that are `busy`; another engine takes them
        again after `lease` seconds."""
        return await self._database.fetch("claim_tellings", self._database.moment(), most, lease, share, busy)

    async def settle(self, tellings: Sequence[Telling]) -> None:
        await self._database.change("settle_tellings", self._database.moment(), *columns(tellings, 9))
