"""Makes stored lists of public holidays anew, each year and with each new version of the package they come from.

Jobs follow a list that changes, even if whoever changed it was stopped before they did.
"""

import asyncio
from typing import Final

from cronty import telemetry
from cronty.store.holiday_store import HolidayStore
from cronty.timing import BadTrigger
from cronty.timing.public_holidays import is_outdated, public_holidays, source_of

EVERY: Final = 3600.0


class Holidays:
    """The duty of keeping public holidays ahead of the schedules that go by them."""

    def __init__(self, store: HolidayStore) -> None:
        self._store = store

    async def step(self) -> float:
        year = (await self._store.now()).year
        for name, source in await self._store.sources():
            if not is_outdated(source, year):
                continue
            try:
                days = await asyncio.to_thread(public_holidays, name.upper(), year)
            except BadTrigger:
                continue  # a country that the package no longer has: the days it had stay
            await self._store.renew(name, source, days, source_of(year))
            telemetry.holidays_renewed(name)
        for moving in await self._store.moving():
            telemetry.calendar_followed(moving.name, await self._store.follow(moving))
        return EVERY
