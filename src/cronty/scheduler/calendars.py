"""What an owner may ask about lists of days off; a list that changes takes the jobs that go by it along."""

import asyncio
from collections.abc import Mapping
from weakref import WeakValueDictionary

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.dashed_name import RULE, is_dashed_name
from cronty.scheduler.decisions import not_from_here, refusal
from cronty.scheduler.known_days import TOO_MANY
from cronty.scheduler.permission import not_to_change
from cronty.scheduler.scheduler import Scheduler
from cronty.store.calendar_store import CalendarStore, DayList
from cronty.store.day_lists import write_days
from cronty.timing import BadTrigger
from cronty.timing.days_off import read_days_off
from cronty.timing.ics_in import read_ics
from cronty.timing.named_calendar import NamedCalendar


class Calendars:
    def __init__(self, store: CalendarStore, scheduler: Scheduler) -> None:
        self._store = store
        self._scheduler = scheduler
        self._turns = WeakValueDictionary[str, asyncio.Lock]()

    async def save(
        self, caller: Caller, name: str, days: Mapping[str, object], ics: str | None
    ) -> Result[tuple[DayList, int]]:
        """Keep a list, and move the jobs whose next slot is another one by it: how many were. The caller must be
        allowed to change each job that uses it."""
        if not is_dashed_name(name):
            return Err("bad_name", f"Invalid name of a calendar: {name[:80]!r}.", f"Use {RULE}, such as 'team'.")
        try:
            read = await self._read(caller, days, ics)
        except BadTrigger as bad:
            return refusal(bad)
        jobs = await self._store.jobs(caller.owner, name)
        for job in jobs:
            if wrong := not_to_change(caller, job) or not_from_here(caller, job.action):
                return wrong
        if wrong := await self._scheduler.allowance.for_calendar(caller.owner, len(write_days(read))):
            return wrong
        saved = await self._store.save(caller, name, read)
        if saved is None:
            return TOO_MANY
        await self._scheduler.allowance.recount(caller.owner)
        return Ok((saved, await self._store.move(caller, saved)))

    async def _read(self, caller: Caller, days: Mapping[str, object], ics: str | None) -> NamedCalendar:
        if ics is None:
            return read_days_off(days)
        today = (await self._scheduler.clock(caller))[0].date()
        async with self._turns.setdefault(caller.owner, asyncio.Lock()):  # one file of an owner at a time
            of_file = await asyncio.to_thread(read_ics, ics, today)
        if not days:
            return of_file
        own = read_days_off(days)
        return NamedCalendar({**of_file.off, **own.off}, own.on)

    async def list(self, caller: Caller) -> Result[list[DayList]]:
        return Ok(await self._store.list(caller.owner))

    async def remove(self, caller: Caller, name: str) -> Result[None]:
        """Forget a list that no job goes by."""
        if jobs := await self._store.jobs(caller.owner, name.lower()):
            deleted = ", which is deleted and can come back," if jobs[0].deleted else ""
            others = f" and {len(jobs) - 1} more go" if len(jobs) > 1 else " goes"
            return Err(
                "calendar_in_use",
                f"Job {jobs[0].number}{deleted}{others} by the calendar {name!r}.",
                "Change its schedule first, or save the list with other days.",
            )
        if await self._store.remove(caller, name.lower()):
            return Ok(None)
        return Err("not_found", f"Calendar not found: {name[:80]!r}", "list_calendars shows yours.")
