"""The results that are told when a run has ended, and how that went."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from cronty.jobs.telling import TellingState
from cronty.store.database import Connection, Database, Row, columns, query

_NOBODY: Final[Mapping[int, datetime]] = MappingProxyType({})


class Telling(NamedTuple):
    """How one try went. `wait` is how many seconds later it is tried again; None if it is over."""

    job_id: int
    slot: datetime
    tries: int
    state: TellingState
    wait: float | None
    failures: int
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

    async def claim(
        self, most: int, lease: float, share: int, busy: Sequence[int] = (), limited: Mapping[int, datetime] = _NOBODY
    ) -> list[Row]:
        """Results to tell now, at most `share` of an owner, none of those that are `busy`, and of those that are
        `limited` none before that time; another engine takes them again after `lease` seconds."""
        moment, until = self._database.moment(), (list(limited), list(limited.values()))
        return await self._database.fetch("claim_tellings", moment, most, lease, share, busy, *until)

    async def settle(self, tellings: Sequence[Telling]) -> None:
        await self._database.change("settle_tellings", self._database.moment(), *columns(tellings, 9))
