"""Pauses or resumes all jobs with a tag, one by one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cronty.contract.answers import JobDetail
from cronty.contract.caller import Caller
from cronty.contract.operation import Operation
from cronty.contract.operations import Operations
from cronty.contract.requests import MAX_LISTED, PauseJob, ResumeJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Filter, Job, JobState
from cronty.scheduler.scheduler import Scheduler
from cronty.scheduler.service import Service

MAX_CHANGED: Final = 1000
"""Jobs changed in one call; for more, call again."""
_MAX_PAGES: Final = 20


@dataclass(frozen=True, slots=True)
class Changed:
    """How many jobs were changed; `more` if some are left."""

    jobs: int
    more: bool


async def pause_tagged(service: Service, caller: Caller, tag: str) -> Result[Changed]:
    """Pause every active job with this tag that has a next slot."""
    return await _change(service, caller, tag, "active", Operations.pause_job, PauseJob)


async def resume_tagged(service: Service, caller: Caller, tag: str) -> Result[Changed]:
    """Resume every paused job with this tag, on this key."""
    return await _change(service, caller, tag, "paused", Operations.resume_job, ResumeJob)


async def _change[R](
    service: Service,
    caller: Caller,
    tag: str,
    state: JobState,
    operation: Operation[..., R, JobDetail],
    request: Callable[[str], R],
) -> Result[Changed]:
    """Ask for this of each job with this tag and state; those that the caller may not change stay as they are."""
    found = await _of_tag(service.scheduler, caller, tag, state)
    if isinstance(found, Err):
        return found
    wanted = found.value[:MAX_CHANGED]
    changed = [await service.answer(operation, caller, request(str(job.number))) for job in wanted]
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
