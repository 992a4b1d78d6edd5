"""Erasing an owner with everything of it: in short transactions by key, so that nobody else waits.

The owner is closed first. Then its jobs are taken out of time, so that nothing of it fires or is claimed; then what
they have is deleted, then the trail, then the owner. Each step finds what is left: an erasing that was interrupted is
started again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, cast

import orjson

from cronty.contract.caller import local_caller
from cronty.store.audit_store import AuditStore, who
from cronty.store.database import Connection, Database, StoreBusy, columns, query
from cronty.store.history_store import delete_some

JOBS: Final = 100
ROWS: Final = 500
STOPPING: Final = 10.0
"""Seconds that workers have to hear of what they are to stop."""

OPERATOR: Final = 0
"""Whose chain the trail of the installation itself is; no owner has this id."""

_TRIES: Final = 20

type Told = Callable[[int], None]
"""Is told how many rows are gone so far."""


class OwnerStore:
    """For whoever runs the installation, in front of the wall between owners."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._operator = database.for_the_operator()
        self._trail = AuditStore(database)

    async def erase(self, owner: str, told: Told = lambda _: None) -> dict[str, int] | None:
        """Erase an owner: how many jobs, rows of theirs and entries of the trail it had; None if there is none."""
        owner_id = cast("int | None", await self._operator.value("close_owner", owner, self._database.moment()))
        if owner_id is None:
            return None
        counts = {"jobs": 0, "rows": 0, "entries": 0}
        while True:
            await self._park(owner_id)
            await self._wait_for_stops(owner_id)
            while (found := await self._patient(lambda c: self._remove_some(c, owner_id))) is not None:
                counts["jobs" if found[0] else "rows"] += found[1]
                told(counts["jobs"] + counts["rows"])
            while entries := await self._trail.erase(owner_id):
                counts["entries"] += entries
                told(sum(counts.values()))
            if await self._patient(lambda c: self._finish(c, owner_id, counts)):
                return counts

    async def _park(self, owner_id: int) -> None:
        """Take the jobs out of time; what waits of them is cancelled, and what runs is asked to stop."""
        last: int | None = 0
        while last is not None:
            last = await self._patient(lambda c, after=last: self._park_some(c, owner_id, after))

    async def _park_some(self, connection: Connection, owner_id: int, after: int) -> int | None:
        jobs = await connection.fetch(query("jobs_of_owner"), owner_id, after, JOBS)
        ids = [job["id"] for job in jobs]
        await connection.fetch(query("lock_places"), ids)
        if runs := await connection.fetch(query("in_flight_runs"), ids):
            moment = self._database.moment()
            await connection.fetchval(query("stop_runs"), moment, *columns(runs, 2), "the owner is being erased")
        await connection.execute(query("delete_due"), ids)
        return cast("int", jobs[-1]["number"]) if len(jobs) == JOBS else None

    async def _wait_for_stops(self, owner_id: int) -> None:
        give_up = monotonic() + STOPPING
        while monotonic() < give_up:
            if not await self._operator.value("count_stops", owner_id):
                return
            await asyncio.sleep(0.25)

    async def _remove_some(self, connection: Connection, owner_id: int) -> tuple[bool, int] | None:
        """Whether it were jobs themselves, and how many rows; None if there are no jobs any more."""
        jobs = await connection.fetch(query("jobs_of_owner"), owner_id, 0, JOBS)
        if not jobs:
            return None
        ids = [job["id"] for job in jobs]
        removed = await delete_some(connection, ids, ROWS)
        left = await connection.fetch(query("jobs_of_owner"), owner_id, 0, 1)
        return not left or left[0]["id"] != ids[0], removed

    async def _finish(self, connection: Connection, owner_id: int, counts: dict[str, int]) -> bool:
        """The rest in one transaction; False if a job came in meanwhile."""
        row = await connection.fetchrow(query("lock_owner"), owner_id)
        if row is None:
            return True  # another has erased it at the same time
        if row["has_jobs"]:
            return False
        while await connection.fetchval(query("erase_audit"), owner_id, ROWS):
            pass
        await connection.execute(query("erase_owner"), owner_id)
        actor, client = who(local_caller("", "cli"))
        after = orjson.dumps({"owner": owner_id, **counts}).decode()
        moment = self._database.moment()
        await connection.execute(query("note_erased"), moment, OPERATOR, actor, client, after)
        return True

    async def _patient[T](self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """A transaction that is tried again where somebody holds what it needs: it isn't in a hurry."""
        for _ in range(_TRIES):
            try:
                return await self._operator.together(work)
            except StoreBusy:
                await asyncio.sleep(0.1)
        return await self._operator.together(work)
