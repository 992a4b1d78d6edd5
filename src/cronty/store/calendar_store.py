"""The lists of days off that owners' jobs go by."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from cronty.contract.caller import Caller
from cronty.jobs.action import Action
from cronty.store.audit_store import who
from cronty.store.database import Bound, Connection, Database, Joined, Row, query
from cronty.store.day_lists import days_in, write_days
from cronty.store.moving import move_jobs
from cronty.timing.named_calendar import NamedCalendar

MAX_CALENDARS: Final = 50
"""Of one owner."""
_BATCH: Final = 1000
_CHANGED: Final = "moved by a changed calendar"


@dataclass(frozen=True, slots=True)
class DayList:
    """A list, by its name; `source` is where public holidays come from, None for an owner's own list."""

    name: str
    days: NamedCalendar
    updated_at: datetime
    source: str | None = None


@dataclass(frozen=True, slots=True)
class JobOfList:
    """A job that uses a list."""

    id: int
    number: int
    action: Action
    made_by: str | None
    deleted: bool


class CalendarStore:
    def __init__(self, database: Database, transaction: Connection | None = None) -> None:
        """With an open `transaction`, lists are saved and listed in it."""
        self._database = database
        self._transaction = transaction

    def _of(self, owner: str) -> Bound:
        return self._database.of(owner) if self._transaction is None else Joined(self._database, self._transaction)

    async def save(self, caller: Caller, name: str, days: NamedCalendar, source: str | None = None) -> DayList | None:
        """Add a list, or replace the one of that name, public holidays only if it isn't there; None if that wasn't
        done, or if the owner has too many."""
        owner = caller.owner
        theirs = self._of(owner)
        if (owner_id := cast("int | None", await theirs.value("owner_id", owner))) is None:
            await theirs.change("ensure_owner", owner)
            owner_id = cast("int", await theirs.value("owner_id", owner))
        stored = write_days(days)
        given = (owner_id, name.lower(), stored, self._database.moment(), MAX_CALENDARS, *who(caller))

        async def save(connection: Connection) -> Row | None:
            await connection.fetchval(query("hold_owner"), owner)
            return await connection.fetchrow(query("save_calendar"), *given, digest_of(stored), source)

        row = await theirs.together(save)
        return None if row is None else DayList(name, days, row["updated_at"], source)

    async def list(self, owner: str) -> "list[DayList]":
        rows = await self._of(owner).fetch("list_calendars", owner)
        return [DayList(row["name"], await days_in(row), row["updated_at"], row["source"]) for row in rows]

    async def remove(self, caller: Caller, name: str) -> bool:
        given = (caller.owner, name, self._database.moment(), *who(caller))
        return await self._database.of(caller.owner).change("remove_calendar", *given) > 0

    async def jobs(self, owner: str, name: str) -> "list[JobOfList]":
        """The jobs that go by a list."""
        rows = await self._database.of(owner).fetch("jobs_by_calendar", owner, name)
        return [
            JobOfList(row["id"], row["number"], _action(row), made_by=row["made_by"], deleted=row["deleted"])
            for row in rows
        ]

    async def move(self, caller: Caller, saved: DayList) -> int:
        """Let the jobs of a list follow it; how many have another next slot."""
        theirs, digest = self._database.of(caller.owner), digest_of(write_days(saved.days))
        return await follow_list(theirs, self._database.moment(), caller.owner, saved.name, digest, caller)


async def follow_list(
    bound: Bound, now: datetime | None, owner: str, name: str, digest: str, caller: Caller | None = None
) -> int:
    """Compute the next slots of the jobs that go by a list again; how many have another one.

    Some at a time, so that none waits long for its turn. Only when all are done is the list no longer marked as moving:
    if this is cut short, an engine does it again.
    """
    ids = [row["id"] for row in await bound.fetch("jobs_by_calendar", owner, name)]
    moved = 0
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]

        async def work(connection: Connection, some: Sequence[int] = some) -> int:
            locked = await connection.fetch(query("lock_slots"), some)
            job_ids = [row["job_id"] for row in locked]
            return await move_jobs(connection, now, job_ids, _CHANGED, caller)

        moved += await bound.together(work)
    await bound.change("calendar_moved", owner, name, digest)
    return moved


def digest_of(stored: str) -> str:
    """What tells one list of days from another."""
    return hashlib.sha256(stored.encode()).hexdigest()


def _action(row: Row) -> Action:
    """Of it only what decides who may change the job."""
    return Action(row["task"], kwargs={"agent": row["agent"]})
