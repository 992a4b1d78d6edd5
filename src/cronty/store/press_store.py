"""The buttons that were pressed under reminders."""

from dataclasses import dataclass
from datetime import datetime

import orjson

from cronty.contract.caller import Caller
from cronty.jobs.run import run_id
from cronty.store.audit_store import who
from cronty.store.database import Database


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder that was sent; `pressed` is the button that settled it, if one has, `until` when it comes again."""

    job_number: int
    name: str
    kwargs: dict[str, object]
    pressed: str | None
    until: datetime | None
    now: datetime


class PressStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, owner: str, job_id: int, slot: datetime) -> Reminder | None:
        """None if its job isn't there any more."""
        row = await self._database.of(owner).one("find_press", self._database.moment(), job_id, slot)
        if row is None:
            return None
        kwargs = orjson.loads(row["arguments"])["kwargs"]
        return Reminder(row["number"], row["name"], kwargs, row["act"], row["until"], row["now"])

    async def press(
        self, caller: Caller, job: tuple[int, int], slot: datetime, act: str, until: datetime | None
    ) -> bool:
        """Whether this was the first button that was pressed; `job` is its id and its number."""
        run = run_id(job[1], slot)
        given = (self._database.moment(), job[0], slot, act, until, *who(caller), run)
        return await self._database.of(caller.owner).change("press", *given) > 0
