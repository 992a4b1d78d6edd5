"""Erases an owner with all its data, in short transactions that block no other owner.

The owner is closed first. Then the due rows of its jobs are deleted, so that nothing fires or is claimed; then the
jobs' other rows, then the trail, then the owner. Each step looks for what is left, so an interrupted erasure can simply
be started again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, cast

import orjson

from cronty.contract.caller import local_caller
from cronty.store.audit_store import OPERATOR, AuditStore, who
from cronty.store.database import Connection, Database, StoreBusy, columns, query
from cronty.store.history_store import delete_some

JOBS: Final = 100
ROWS: Final = 500
STOPPING: Final = 10.0
"""Seconds that workers have to stop the owner's runs."""

MAX_NAMES: Final = 10_000
"""Names of owners that are remembered; the others are asked for."""

_TRIES: Final = 20

type Progress = Callable[[int], None]
"""Called with how many rows are deleted so far."""


class OwnerStore:
    """For the operator of the installation: row-level security doesn't apply."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._operator = database.for_the_operator()
        self._trail = AuditStore(database)
        self._names: dict[int, str] = {}

    async def name_of(self, owner_id: int) -> str | None:
        """What an owner is called; None if it isn't there any more. A name is never changed, so it is remembered."""
        name = self._names.get(owner_id)
        if name is None:
            row = await self._database.for_the_engine().one("owner_name", owner_id)
            name = None if row is None else cast("str", row["name"])
            if name is not None and len(self._names) < MAX_NAMES:
                self._names[owner_id] = name
        return name

    async def exists(self, owner: str) -> bool:
        return bool(await self._operator.value("owner_exists", owner))

    async def check_right_to_erase(self) -> None:
        """Raise as `erase` would if this login may not; nothing is changed."""
        await self._operator.value("close_owner", None, self._database.moment())

    async def erase(self, owner: str, progress: Progress = lambda _: None) -> dict[str, int] | None:
        """Erase an owner: how many jobs, other rows and trail entries it had; None if there is no such owner."""
        owner_id = cast("int | None", await self._operator.value("close_owner", owner, self._database.moment()))
        if owner_id is None:
            return None
        counts = {"jobs": 0, "rows": 0, "entries": 0}
        while True:
            await self._park(owner_id)
            await self._wait_for_stops(owner_id)
            while (found := await self._patient(lambda c: self._remove_some(c, owner_id))) is not None:
                counts["jobs" if found[0] else "rows"] += found[1]
                progress(counts["jobs"] + counts["rows"])
            while entries := await self._trail.erase(owner_id):
                counts["entries"] += entries
                progress(sum(counts.values()))
            if await self._patient(lambda c: self._finish(c, owner_id, counts)):
                return counts

    async def _park(self, owner_id: int) -> None:
        """Delete the jobs' due rows, cancel their waiting runs, and request a stop of the running ones."""
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
        """Whether jobs themselves were deleted, and how many rows; None if no jobs are left."""
        jobs = await connection.fetch(query("jobs_of_owner"), owner_id, 0, JOBS)
        if not jobs:
            return None
        ids = [job["id"] for job in jobs]
        removed = await delete_some(connection, ids, ROWS)
        left = await connection.fetch(query("jobs_of_owner"), owner_id, 0, 1)
        return not left or left[0]["id"] != ids[0], removed

    async def _finish(self, connection: Connection, owner_id: int, counts: dict[str, int]) -> bool:
        """Delete the rest in one transaction; False if a job was made meanwhile."""
        if await connection.fetchval(query("lock_owner"), owner_id) is None:
            return True  # another process has just erased it
        if await connection.fetch(query("jobs_of_owner"), owner_id, 0, 1):
            return False
        while await connection.fetchval(query("erase_audit"), owner_id, ROWS):
            pass
        await connection.execute(query("erase_owner"), owner_id, self._database.moment())
        actor, client = who(local_caller("", "cli"))
        after = orjson.dumps({"owner": owner_id, **counts}).decode()
        moment = self._database.moment()
        await connection.execute(query("note_erased"), moment, OPERATOR, actor, client, after)
        return True

    async def _patient[T](self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """A transaction that is tried again if other transactions hold the locks it needs."""
        for _ in range(_TRIES):
            try:
                return await self._operator.together(work)
            except StoreBusy:
                await asyncio.sleep(0.1)
        return await self._operator.together(work)
