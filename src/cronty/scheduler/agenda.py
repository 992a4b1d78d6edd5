"""The agenda: prompts for an agent, listed by time, changed only while they are pending."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from datetime import MINYEAR, datetime, timedelta
from typing import Any, Final

from cronty.contract.answers import JobDetail, ScheduledJob
from cronty.contract.caller import Caller
from cronty.contract.operation import UNSET
from cronty.contract.operations import Operations
from cronty.contract.requests import CancelJob, EditJob, ScheduleJob, TriggerType
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import PROMPT
from cronty.jobs.job import Filter, Job
from cronty.scheduler.decisions import next_slot_of
from cronty.scheduler.scheduler import JobPage
from cronty.scheduler.service import Service
from cronty.timing.offsets import TICK

type When = tuple[TriggerType, Mapping[str, Any]]
"""A trigger type and its configuration."""

_PAGE: Final = 100
"""Few, because each has arguments of up to 64 KiB."""
_HORIZON: Final = timedelta(days=3653)
"""Counting the runs until then takes as long as they are many."""
_GONE = frozenset({"not_found", "not_editable", "version_conflict"})
NOT_PENDING = Err("not_pending", "It isn't there, or it is no longer pending.")


class Agenda:
    """The jobs whose action is a prompt, by the same operations as any others."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._scheduler = service.scheduler

    async def add(
        self,
        caller: Caller,
        prompt: str,
        when: When,
        *,
        agent: str | None = None,
        timezone: str | None = None,
        starts_at: str | None = None,
    ) -> Result[ScheduledJob]:
        """Put a prompt on the agenda; `agent` None means the first agent that reads it."""
        if not prompt.strip():
            return _EMPTY
        kwargs = {"prompt": prompt} if agent is None else {"prompt": prompt, "agent": agent}
        request = ScheduleJob(title(prompt), PROMPT, *when, kwargs=kwargs, timezone=timezone, starts_at=starts_at)
        return await self._service.answer(Operations.schedule_job, caller, request)

    async def list(
        self,
        caller: Caller,
        status: str = "pending",
        since: datetime | None = None,
        until: datetime | None = None,
        most: int | None = None,
    ) -> Result[JobPage]:
        """The items of a status and range, ordered by fire time: the first `most`, and how many there are. One that
        repeats is in the range with the first of its times there, even if it fires before, by up to ten years."""
        found = JobPage([], 0, None)
        async for page in self._pages(caller, Filter(status, task="prompt", since=since, until=until)):
            if isinstance(page, Err):
                return page
            found = JobPage([*found.jobs, *page.value.jobs], max(found.total, page.value.total), None)
            if most is not None and len(found.jobs) >= most:
                break
        if since is None or status != "pending" or since.year == MINYEAR:
            return Ok(JobPage(found.jobs[:most], found.total, None))
        again, total = list(found.jobs), found.total
        async for page in self._pages(caller, Filter(status, task="prompt", until=since - TICK)):
            if isinstance(page, Err):
                return page
            for one in page.value.jobs:
                await asyncio.sleep(0)  # others' turn: there may be very many, each with a walk
                if (job := _within(one, since, until)) is not None:
                    again.append(job)
                    total += 1
            again = sorted(again, key=lambda job: (job.fire_at or since, job.number))[:most]
        return Ok(JobPage(again, total, None))

    async def _pages(self, caller: Caller, wanted: Filter) -> AsyncGenerator[Result[JobPage]]:
        cursor: str | None = None
        while True:
            page = await self._scheduler.list_jobs(caller, wanted, _PAGE, cursor)
            yield page
            if isinstance(page, Err) or (cursor := page.value.cursor) is None:
                return

    async def pending(self, caller: Caller, number: int) -> Result[Job]:
        """An item that can still be changed; else `NOT_PENDING`."""
        shown = await self._scheduler.show(caller, number)
        if isinstance(shown, Err) or shown.value.status != "pending" or shown.value.action.kind != "prompt":
            return NOT_PENDING
        return shown

    async def edit(self, caller: Caller, number: int, prompt: str | None, when: When | None) -> Result[ScheduledJob]:
        """Change the prompt or the time; `NOT_PENDING` if there is nothing to edit."""
        if prompt is not None and not prompt.strip():
            return _EMPTY
        found = await self.pending(caller, number)
        if isinstance(found, Err):
            return found
        request = EditJob(
            str(number),
            expected_version=found.value.version,
            task=UNSET if prompt is None else PROMPT,  # which it is; without it, it would be looked up
            kwargs=UNSET if prompt is None else {**found.value.action.kwargs, "prompt": prompt},
            name=UNSET if prompt is None else title(prompt),
            trigger_type=UNSET if when is None else when[0],
            trigger_config=UNSET if when is None else when[1],
        )
        return _if_there(await self._service.answer(Operations.edit_job, caller, request))

    async def cancel(self, caller: Caller, number: int) -> Result[JobDetail]:
        found = await self.pending(caller, number)
        if isinstance(found, Err):
            return found
        return _if_there(await self._service.answer(Operations.cancel_job, caller, CancelJob(str(number))))


def _if_there[A](result: Result[A]) -> Result[A]:
    return NOT_PENDING if isinstance(result, Err) and result.code in _GONE else result


def _within(job: Job, since: datetime, until: datetime | None) -> Job | None:
    """The job with its first slot in the range as the next one; None if none of its slots is in it."""
    coming, slots = job.next_slot, job.slots
    if coming is None or since <= coming or since - coming > _HORIZON:
        return None
    slot = next_slot_of(slots, since - TICK, job.ends_at)
    if slot is None or (until is not None and slot > until):
        return None
    if job.remaining is not None and slots.count(coming, slot) > job.remaining:
        return None
    return replace(job, next_slot=slot)


_EMPTY = Err("bad_prompt", "The prompt is empty.", "Write what the agent should do.")


def title(prompt: str) -> str:
    """A prompt's name in lists: its first 80 characters, on one line."""
    return " ".join(prompt.split())[:80] or "prompt"
