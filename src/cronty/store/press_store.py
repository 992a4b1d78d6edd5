"""The buttons that were pressed under reminders."""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

import orjson

from cronty.contract.caller import Caller
from cronty.jobs.run import run_id
from cronty.store.audit_store import who
from cronty.store.database import Connection, Database, query, rows_changed
from cronty.store.new_job import NewJob, NewJobs


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder that was sent; `pressed` is the button that settled it, if one has, `until` when it comes again.
    `agent` and `key_id` are those its job was made by; `key_ended`: that key isn't good any more."""

    job_number: int
    name: str
    kwargs: dict[str, object]
    pressed: str | None
    until: datetime | None
    agent: str | None
    key_id: int | None
    key_ended: bool
    now: datetime


class _Settled(Exception):
    """Another button was first."""


class _NoNumber(Exception):
    """The number of the new job is taken."""


class PressStore:
    def __init__(self, database: Database, new_jobs: NewJobs) -> None:
        self._database = database
        self._new_jobs = new_jobs

    async def find(self, owner: str, job_id: int, slot: datetime) -> Reminder | None:
        """None if its job isn't there any more."""
        row = await self._database.of(owner).one("find_press", self._database.moment(), owner, job_id, slot)
        if row is None:
            return None
        kwargs = orjson.loads(row["arguments"])["kwargs"]
        return Reminder(
            row["number"], row["name"], kwargs, row["act"], row["until"], row["agent"], row["key_id"], row["key_ended"],
            row["now"],
        )  # fmt: skip

    async def press(
        self, caller: Caller, job: tuple[int, int], slot: datetime, act: str, again: tuple[Caller, NewJob] | None
    ) -> bool:
        """Whether this was the first button that was pressed; `job` is its id and its number. If it was, the new job is
        made in the same transaction; and only then."""
        until = None if again is None else again[1].first_slot
        moment, run, owner = self._database.moment(), run_id(job[1], slot), caller.owner
        given = (moment, job[0], slot, act, until, *who(caller), run, owner)
        theirs = self._database.of(owner)
        if again is None:
            return await theirs.change("press", *given) > 0

        async def both(connection: Connection, row: str) -> str:
            if not rows_changed(await connection.execute(query("press"), *given)):
                raise _Settled
            answer = cast("str", await connection.fetchval(query("add_job"), row))
            if answer == "{}":
                raise _NoNumber
            return answer

        async def make(row: str) -> str:
            try:
                return await theirs.together(lambda connection: both(connection, row))
            except _NoNumber:
                return "{}"

        try:
            await self._new_jobs.add(*again, make=make)
        except _Settled:
            return False
        return True
