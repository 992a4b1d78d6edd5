"""What the buttons under a reminder do: it is done, or comes again in ten minutes or tomorrow at 9:00."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from cronty.actions.buttons import read_link
from cronty.actions.signatures import Keys
from cronty.contract.caller import Caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.moments import local_text
from cronty.jobs.press import LASTS, Act, Press
from cronty.scheduler.decisions import MAX_NAME
from cronty.scheduler.permission import not_to_change
from cronty.scheduler.scheduler import Scheduler
from cronty.store.new_job import NewJob
from cronty.store.press_store import PressStore, Reminder

SNOOZE: Final = timedelta(minutes=10)
CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""A reminder that ntfy sends may come so much before its time by our clock."""

TOMORROW: Final = "tomorrow at 09:00"
_AGAIN: Final = " (snoozed)"

_BAD: Final = Err("bad_link", "This link isn't one of ours, or it was changed.", "Use the button as it came.")
_OLD: Final = Err("link_expired", "This link is too old.", "Nothing was changed.")
_EARLY: Final = Err("not_found", "This reminder hasn't come yet.", "Nothing was changed.")
_GONE: Final = Err("not_found", "This reminder isn't there any more.", "Nothing was changed.")
_ENDED: Final = Err(
    "link_expired", "The key that this reminder was made with isn't good any more.", "Nothing was changed; Done works."
)


@dataclass(frozen=True, slots=True)
class Pressed:
    """`until` is when the reminder comes again, in words; None if it is done. `first`: this press has settled it."""

    act: Act
    until: str | None
    first: bool

    @property
    def words(self) -> str:
        if self.first:
            return "Done." if self.until is None else f"Snoozed until {self.until}."
        before = "it is done" if self.until is None else f"it is snoozed until {self.until}"
        return f"This reminder was settled already: {before}. Nothing was changed."


class Presses:
    """`whose` finds an owner's name by its id. Each reminder is settled once, by whichever button comes first."""

    def __init__(
        self, store: PressStore, scheduler: Scheduler, whose: Callable[[int], Awaitable[str | None]], keys: Keys
    ) -> None:
        self._store = store
        self._scheduler = scheduler
        self._whose = whose
        self._keys = keys

    async def owner_of(self, link: str) -> str | None:
        """Whose reminder it is; None if the link isn't one of ours."""
        press = read_link(link, self._keys())
        return None if press is None else await self._whose(press.owner_id)

    async def look(self, link: str) -> Result[Press | Pressed]:
        """What pressing this link would do, or what was done already. Changes nothing."""
        found = await self._found(link)
        if isinstance(found, Err):
            return found
        press, caller, reminder = found.value
        if reminder.pressed is None:
            return Ok(press)
        return Ok(await self._told(caller, press.act, reminder.until, first=False))

    async def press(self, link: str) -> Result[Pressed]:
        found = await self._found(link)
        if isinstance(found, Err):
            return found
        return await self._settle(*found.value)

    async def snooze(self, caller: Caller, job_id: str, until: str) -> Result[Pressed]:
        """Have the last reminder of a job come again at this time, as its buttons do."""
        named = await self._scheduler.named(caller, job_id)
        shown = named if isinstance(named, Err) else await self._scheduler.show(caller, named.value)
        if isinstance(shown, Err):
            return shown
        job = shown.value
        if wrong := not_to_change(caller, job):
            return wrong
        if job.action.task != "notify":
            return Err("not_editable", f"{job.name} is no reminder.", "`cronty move` puts off one run of another job.")
        ran = await self._scheduler.list_runs(caller, job, 1)
        if isinstance(ran, Err):
            return ran
        reminder = await self._store.find(caller.owner, job.id, ran.value[0].scheduled_for) if ran.value else None
        if reminder is None:
            return Err("not_found", f"{job.name} hasn't come yet.", "`cronty move` puts off one that is planned.")
        slot = ran.value[0].scheduled_for
        return await self._settle(Press("snooze", 0, job.id, slot, slot + LASTS), caller, reminder, until)

    async def _settle(
        self, press: Press, caller: Caller, reminder: Reminder, until: str | None = None
    ) -> Result[Pressed]:
        """Settle a reminder, unless it is; `until` is when it comes again, if the button doesn't say."""
        if reminder.pressed is not None:
            return Ok(await self._told(caller, press.act, reminder.until, first=False))
        again = await self._again(caller, press, reminder, until)
        if isinstance(again, Err):
            return again
        job = (press.job_id, reminder.job_number)
        if await self._store.press(caller, job, press.slot, press.act, again):
            back = None if again is None else again[1].first_slot
            return Ok(await self._told(caller, press.act, back, first=True))
        settled = await self._store.find(caller.owner, press.job_id, press.slot)
        return _GONE if settled is None else Ok(await self._told(caller, press.act, settled.until, first=False))

    async def _found(self, link: str) -> Result[tuple[Press, Caller, Reminder]]:
        press = read_link(link, self._keys())
        owner = None if press is None else await self._whose(press.owner_id)
        if press is None or owner is None:
            return _BAD
        caller = Caller(owner, frozenset({"schedule"}), surface="phone", operation="press")
        reminder = await self._store.find(owner, press.job_id, press.slot)
        if reminder is None:
            return _GONE
        if reminder.now < press.slot - CLOCKS_DIFFER:
            return _EARLY
        return _OLD if reminder.now > press.expires_at else Ok((press, caller, reminder))

    async def _again(
        self, caller: Caller, press: Press, reminder: Reminder, until: str | None
    ) -> tuple[Caller, NewJob] | Err | None:
        """The job by which the reminder comes again, and who makes it; None if it is done. It ends with the key of the
        reminder's own job."""
        if press.act == "done":
            return None
        if reminder.key_ended:
            return _ENDED
        caller = replace(caller, agent=reminder.agent, key_id=reminder.key_id)
        now, zone = await self._scheduler.clock(caller)
        when = until or (TOMORROW if press.act == "tomorrow" else (now + SNOOZE).isoformat())
        new = await self._scheduler.decide(
            caller,
            ScheduleJob(
                reminder.name.removesuffix(_AGAIN)[: MAX_NAME - len(_AGAIN)] + _AGAIN,
                "notify",
                "once",
                {"run_at": when},
                kwargs=reminder.kwargs,
                timezone=zone,
            ),
        )
        if isinstance(new, NewJob):
            return caller, new
        assert isinstance(new, Err)  # without an idempotency key, no earlier job is found
        return new

    async def _told(self, caller: Caller, act: Act, until: datetime | None, *, first: bool) -> Pressed:
        _, zone = await self._scheduler.clock(caller)
        return Pressed(act, None if until is None else local_text(until, zone), first)
