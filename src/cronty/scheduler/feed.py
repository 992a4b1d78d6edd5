"""An owner's agenda as a calendar that people can subscribe to."""

import asyncio
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Filter, Job
from cronty.scheduler.permission import lacks
from cronty.scheduler.scheduler import Scheduler
from cronty.timing import describe
from cronty.timing.ics_out import Entry, write_ics

MAX_JOBS: Final = 300


async def agenda_feed(scheduler: Scheduler, caller: Caller) -> Result[str]:
    """The jobs that fire next, as an iCalendar file: their names, their schedules and when they run, nothing else.

    A key in a URL gets into histories and logs, so it must be one that is good for nothing but this.
    """
    if caller.key_id is not None and set[str](caller.scopes) != {"agenda"}:
        return _TOO_MUCH
    if wrong := lacks(caller, "agenda", "The feed"):
        return replace(wrong, hint=f"{_MAKE_ONE}.")
    now, _ = await scheduler.clock(caller)
    found = await scheduler.list_jobs(caller, Filter("pending"), MAX_JOBS, for_display=True)
    if isinstance(found, Err):
        return found
    return Ok(await asyncio.to_thread(_written, found.value.jobs, now, caller.owner))


_MAKE_ONE: Final = "Make one with: cronty token add calendar --scope agenda"
_TOO_MUCH: Final = Err("not_allowed", "A key in a URL may have the scope agenda and no other.", f"{_MAKE_ONE}.")


def _written(jobs: list[Job], now: datetime, owner: str) -> str:
    return write_ics((_entry(job, slot) for job in jobs if (slot := job.next_run) is not None), now, f"Cronty: {owner}")


def _entry(job: Job, first: datetime) -> Entry:
    words = describe(job.trigger, job.zone)
    # Nothing of its id, which counts the jobs of all owners; and no other installation's job has the same.
    facts = f"{job.owner}\n{job.number}\n{job.created_at.isoformat()}"
    return Entry(sha256(facts.encode()).hexdigest()[:32], job.name, words, job.slots, first, job.ends_at, job.remaining)
