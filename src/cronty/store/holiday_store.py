"""The public holidays that are stored, and the lists that jobs have yet to follow, of all owners."""

from datetime import datetime
from typing import NamedTuple, cast

from cronty.store.calendar_store import digest_of, follow_list
from cronty.store.database import Database
from cronty.store.day_lists import write_days
from cronty.timing.named_calendar import NamedCalendar


class MovingList(NamedTuple):
    """A list whose days have changed; its jobs have yet to follow."""

    owner: str
    name: str
    digest: str


class HolidayStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        return cast("datetime", await self._database.value("now", self._database.moment()))

    async def sources(self) -> list[tuple[str, str]]:
        """Which lists there are, by name, and where they come from."""
        return [(row["name"], row["source"]) for row in await self._database.fetch("holiday_sources")]

    async def renew(self, name: str, old: str, days: NamedCalendar, source: str) -> None:
        """Give all owners that have a list from an old source the new days; `follow` moves their jobs."""
        stored = write_days(days)
        given = (name, old, self._database.moment(), stored, digest_of(stored), source)
        await self._database.change("renew_holidays", *given)

    async def moving(self) -> list[MovingList]:
        """The lists that jobs have yet to follow."""
        return [MovingList(*row) for row in await self._database.fetch("moving_calendars")]

    async def follow(self, moving: MovingList) -> int:
        """Let the jobs of a list follow it; how many have another next slot."""
        return await follow_list(self._database, self._database.moment(), *moving)
