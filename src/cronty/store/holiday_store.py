"""The public holidays that are stored, of all owners."""

from datetime import datetime
from typing import cast

from cronty.store.calendar_store import digest_of, move_in_batches
from cronty.store.database import Database
from cronty.store.day_lists import write_days
from cronty.timing.days_off import NamedCalendar


class HolidayStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        return cast("datetime", await self._database.value("now", self._database.moment()))

    async def sources(self) -> list[tuple[str, str]]:
        """Which lists there are, by name, and where they come from."""
        return [(row["name"], row["source"]) for row in await self._database.fetch("holiday_sources")]

    async def renew(self, name: str, old: str, days: NamedCalendar, source: str) -> int:
        """Give all owners that have a list from an old source the new days; how many jobs have another next slot."""
        stored = write_days(days)
        given = (name, old, self._database.moment(), stored, digest_of(stored), source)
        moved = 0
        for row in await self._database.fetch("renew_holidays", *given):
            jobs = await self._database.fetch("jobs_by_calendar", row["owner"], name)
            moved += await move_in_batches(self._database, None, row["owner"], [job["id"] for job in jobs])
        return moved
