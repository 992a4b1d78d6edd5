"""Pauses or resumes all jobs with a tag, one by one."""

from dataclasses import dataclass
from typing import Final

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Filter, Job, JobState
from cronty.scheduler.scheduler import MAX_LISTED, Scheduler

MAX_CHANGED: Final = 1000
"""Jobs changed in one call; for more, call again."""
_MAX_PAGES: Final = 20


@dataclass(frozen=True, slots=True)
class Changed:
    """How many jobs were changed; `more` if some are left."""

    jobs: int
    more: bool


async def pause_tagged(scheduler: Scheduler, caller: Caller, tag: str) -> Result[Changed]:
    """Pause every active job with this tag that has a next slot."""
    found = await _of_tag(scheduler, caller, tag, "active")
    if isinstance(found, Err):
        return found
    changed = [await scheduler.pause(caller, job.number) for job in found.value[:MAX_CHANGED]]
    return Ok(Changed(sum(isinstance(one, Ok) for one in changed), len(found.value) > MAX_CHANGED))


async def resume_tagged(scheduler: Scheduler, caller: Caller, tag: str) -> Result[Changed]:
    """Resume every paused job with this tag, on this key."""
    found = await _of_tag(scheduler, caller, tag, "paused")
    if isinstance(found, Err):
        return found
    changed = [await scheduler.resume(caller, job.number) for job in found.value[:MAX_CHANGED]]
    return Ok(Changed(sum(isinstance(one, Ok) for one in changed), len(found.value) > MAX_CHANGED))


async def _of_tag(scheduler: Scheduler, caller: Caller, tag: str, state: JobState) -> Result[list[Job]]:
    """The jobs with this tag and state. All are found before one is changed: a change moves a job in the list."""
    found: list[Job] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await scheduler.list_jobs(caller, Filter(tag=tag), MAX_LISTED, cursor)
        if isinstance(page, Err):
            return page
        found += [job for job in page.value.jobs if job.state == state and (job.next_slot or state == "paused")]
        cursor = page.value.cursor
        if cursor is None or len(found) > MAX_CHANGED:
            break
    return Ok(found)
