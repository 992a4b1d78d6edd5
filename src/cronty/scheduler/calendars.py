"""What an owner may ask about lists of days off; a list that changes takes the jobs that go by it along."""

from collections.abc import Mapping
from re import compile as pattern
from typing import Final

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.decisions import refusal
from cronty.scheduler.scheduler import Scheduler
from cronty.store.calendar_store import MOST_CALENDARS, CalendarStore, DayList
from cronty.timing import BadTrigger
from cronty.timing.days_off import NamedCalendar, read_days_off
from cronty.timing.ics_in import read_ics

MAX_NAME: Final = 64
_NAME: Final = pattern(r"[a-z0-9]+(-[a-z0-9]+)*")


class Calendars:
    def __init__(self, store: CalendarStore, scheduler: Scheduler) -> None:
        self._store = store
        self._scheduler = scheduler

    async def save(
        self, caller: Caller, name: str, days: Mapping[str, object], ics: str | None
    ) -> Result[tuple[DayList, int]]:
        """Keep a list, and move the jobs that go by it to its days: how many were."""
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            rule = f"1 to {MAX_NAME} lower-case letters and digits with single dashes between them, such as 'team'"
            return Err("bad_name", f"Invalid name of a calendar: {name[:80]!r}.", f"Use {rule}.")
        try:
            read = await self._read(caller, days, ics)
        except BadTrigger as bad:
            return refusal(bad)
        saved = await self._store.save(caller, name, read)
        if saved is None:
            return Err("too_many_calendars", f"There are {MOST_CALENDARS} calendars already.", "Remove one of them.")
        known = {one.name: one.days for one in await self._store.list(caller.owner)}
        moved = 0
        for number in await self._store.jobs(caller.owner, name):
            moved += await self._scheduler.go_by(caller, number, known)
        return Ok((saved, moved))

    async def _read(self, caller: Caller, days: Mapping[str, object], ics: str | None) -> NamedCalendar:
        if ics is None:
            return read_days_off(days)
        of_file = read_ics(ics, (await self._scheduler.clock(caller))[0].date())
        if not days:
            return of_file
        own = read_days_off(days)
        return NamedCalendar({**of_file.off, **own.off}, own.on)

    async def list(self, caller: Caller) -> Result[list[DayList]]:
        return Ok(await self._store.list(caller.owner))

    async def remove(self, caller: Caller, name: str) -> Result[None]:
        """Forget a list that no job goes by."""
        if jobs := await self._store.jobs(caller.owner, name):
            return Err(
                "calendar_in_use",
                f"{len(jobs)} jobs go by the calendar {name!r}, job {jobs[0]} among them.",
                "Change their schedules first.",
            )
        if await self._store.remove(caller, name):
            return Ok(None)
        return Err("not_found", f"Calendar not found: {name[:80]!r}", "list_calendars shows yours.")
