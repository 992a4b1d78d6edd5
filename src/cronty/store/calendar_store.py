"""The lists of days off that owners keep for their calendars."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, cast

import orjson

from cronty.contract.caller import Caller
from cronty.store.audit_store import who
from cronty.store.database import Database
from cronty.timing.days_off import NamedCalendar

MOST_CALENDARS: Final = 50
"""Of one owner."""


@dataclass(frozen=True, slots=True)
class DayList:
    """A list, by its name."""

    name: str
    days: NamedCalendar
    updated_at: datetime


class CalendarStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, caller: Caller, name: str, days: NamedCalendar) -> DayList | None:
        """Add a list, or replace the one of that name; None if the owner has too many."""
        owner = caller.owner
        theirs = self._database.of(owner)
        if (owner_id := cast("int | None", await theirs.value("owner_id", owner))) is None:
            await theirs.change("ensure_owner", owner)
            owner_id = cast("int", await theirs.value("owner_id", owner))
        stored = orjson.dumps(
            {
                "off": {day.isoformat(): reason for day, reason in sorted(days.off.items())},
                "on": [day.isoformat() for day in sorted(days.on)],
            }
        ).decode()
        given = (owner_id, name, stored, self._database.moment(), MOST_CALENDARS, *who(caller))
        row = await theirs.one("save_calendar", *given)
        return None if row is None else DayList(name, days, row["updated_at"])

    async def list(self, owner: str) -> "list[DayList]":
        rows = await self._database.of(owner).fetch("list_calendars", owner)
        return [DayList(row["name"], _days(row["days"]), row["updated_at"]) for row in rows]

    async def remove(self, caller: Caller, name: str) -> bool:
        given = (caller.owner, name, self._database.moment(), *who(caller))
        return await self._database.of(caller.owner).change("remove_calendar", *given) > 0

    async def jobs(self, owner: str, name: str) -> "list[int]":
        """The numbers of the jobs that go by a list."""
        return [row["number"] for row in await self._database.of(owner).fetch("jobs_by_calendar", owner, name)]


def _days(stored: str) -> NamedCalendar:
    said = orjson.loads(stored)
    return NamedCalendar(
        {date.fromisoformat(day): reason for day, reason in said["off"].items()},
        frozenset(map(date.fromisoformat, said["on"])),
    )
