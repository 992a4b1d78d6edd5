"""What is done to all jobs of a tag at once, each as if it had been asked for alone."""

from dataclasses import dataclass
from typing import Final

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Filter, Job, JobState
from cronty.scheduler.door import MOST_LISTED, Scheduler

MOST_CHANGED: Final = 1000
"""In one call; whoever has more calls again."""
_MOST_PAGES: Final = 20


@dataclass(frozen=True, slots=True)
class Changed:
    """How many jobs were changed; `more` if there are others left."""

    jobs: int
    more: bool


async def pause_tagged(door: Scheduler, caller: Caller, tag: str) -> Result[Changed]:
    """Hold every job of a tag that has something to come."""
    found = await _of_tag(door, caller, tag, "active")
    if isinstance(found, Err):
        return found
    changed = [await door.pause(caller, job.number) for job in found.value[:MOST_CHANGED]]
    return Ok(Changed(sum(one.is_ok for one in changed), len(found.value) > MOST_CHANGED))


async def resume_tagged(door: Scheduler, caller: Caller, tag: str) -> Result[Changed]:
    """Let every paused job of a tag go on, on this key."""
    found = await _of_tag(door, caller, tag, "paused")
    if isinstance(found, Err):
        return found
    changed = [await door.resume(caller, job.number) for job in found.value[:MOST_CHANGED]]
    return Ok(Changed(sum(one.is_ok for one in changed), len(found.value) > MOST_CHANGED))


async def _of_tag(door: Scheduler, caller: Caller, tag: str, state: JobState) -> Result[list[Job]]:
    """Found before anything is changed, because a change moves a job in the list."""
    found: list[Job] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await door.list_jobs(caller, Filter(tag=tag), MOST_LISTED, cursor)
        if isinstance(page, Err):
            return page
        found += [job for job in page.value.jobs if job.state == state and (job.next_slot or state == "paused")]
        cursor = page.value.cursor
        if cursor is None or len(found) > MOST_CHANGED:
            break
    return Ok(found)
