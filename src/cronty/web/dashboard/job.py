"""The page of one job: its schedule, its past and next slots, and its buttons."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final

from starlette.responses import Response

from cronty.contract.caller import Scope
from cronty.contract.codes import status_of
from cronty.contract.requests import ChangeSlot
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Job
from cronty.jobs.run import MOVES, Run
from cronty.scheduler.answers import run_of
from cronty.scheduler.overview import YEAR_SHOWN
from cronty.timing import Slot, preview
from cronty.web.dashboard.heatmap import draw_year
from cronty.web.dashboard.visit import Handler, Refused, Visit

RUNS: Final = 25
COMING: Final = 10
MESSAGES: Final = {
    "made": "The job is scheduled.",
    "edited": "The change is saved.",
    "paused": "The job is paused. Nothing fires until it is resumed.",
    "resumed": "The job is resumed.",
    "skipped": "The next run is skipped. The schedule stays.",
    "restored": "It runs at its planned time after all.",
    "cancelled": "The job is cancelled. Nothing more fires.",
    "asked": "A run is queued. It starts as soon as a worker is free.",
}


async def show_job(visit: Visit, problem: Err | None = None) -> Response:
    job = await find(visit)
    scheduler = visit.service.scheduler
    now, _ = await visit.clock()
    year = await visit.service.overview.year(visit.caller, job.number)
    return visit.page(
        "job.html",
        200 if problem is None else status_of(problem.code),
        job=job,
        now=now,
        coming=coming(job, now),
        year=draw_year([] if isinstance(year, Err) else year.value),
        short=isinstance(year, Ok) and len(year.value) < YEAR_SHOWN,
        runs=_page(await scheduler.list_runs(visit.caller, job.number, RUNS + 1)),
        verdict="",
        verdicts=list(MOVES),
        err=problem,
        message=MESSAGES.get(visit.query.get("done", "")),
        why=why,
        run_of=run_of,
    )


async def show_runs(visit: Visit) -> Response:
    """More runs of a job, or those with one verdict: only the rows."""
    job = await find(visit)
    verdict = visit.query.get("verdict", "")
    try:
        before = datetime.fromisoformat(visit.query["before"]) if visit.query.get("before") else None
    except ValueError:
        before = None
    if before is not None and before.tzinfo is None:
        before = None
    state = verdict if verdict in MOVES else None
    found = await visit.service.scheduler.list_runs(visit.caller, job.number, RUNS + 1, before, state)
    now, _ = await visit.clock()
    return visit.page("run_rows.html", job=job, now=now, runs=_page(found), verdict=state or "", why=why, run_of=run_of)


async def find(visit: Visit) -> Job:
    found = await visit.service.scheduler.show(visit.caller, visit.path("job_id"))
    if isinstance(found, Err):
        raise Refused(found)
    return found.value


def coming(job: Job, now: datetime) -> list[Slot]:
    """The job's next slots, no more than it will have."""
    if job.next_slot is None:
        return []
    count = COMING if job.remaining is None else min(COMING, job.remaining)
    slots = preview(job.slots, min(job.next_slot, now + timedelta(days=36500)) - _INSTANT, count, job.zone)
    return [slot for slot in slots if job.ends_at is None or slot.utc <= job.ends_at]


_INSTANT: Final = timedelta(microseconds=1)


def why(run: Run) -> str:
    """The reason for a verdict in one line, with how late it started and how often it was tried."""
    reason = run_of(run).reason
    parts = [reason] if reason else []
    if run.manual and not run.reason:
        parts.append("asked for by hand")
    if run.slots > 1:
        parts.append(f"stands for {run.slots} slots")
    if run.attempt > 1:
        parts.append(f"attempt {run.attempt}")
    return ", ".join(parts)


def _page(found: Result[list[Run]]) -> tuple[list[Run], str | None]:
    """A page of runs, and the cursor of the next page."""
    runs = [] if isinstance(found, Err) else found.value
    more = runs[RUNS - 1].scheduled_for.isoformat() if len(runs) > RUNS else None
    return runs[:RUNS], more


# -- doing something with it ---------------------------------------------------------------------------------------

type Act = Callable[[Visit, str], Awaitable[Result[Any]]]


async def _pause(visit: Visit, job_id: str) -> Result[Job]:
    return await visit.service.scheduler.pause(visit.caller, job_id)


async def _resume(visit: Visit, job_id: str) -> Result[Job]:
    return await visit.service.scheduler.resume(visit.caller, job_id)


async def _cancel(visit: Visit, job_id: str) -> Result[Job]:
    return await visit.service.scheduler.cancel(visit.caller, job_id)


async def _skip(visit: Visit, job_id: str) -> Result[Job]:
    return await visit.service.scheduler.change_slot(visit.caller, ChangeSlot(job_id, visit.form.get("slot")))


async def _restore(visit: Visit, job_id: str) -> Result[Job]:
    slot = visit.form.get("slot", "")
    return await visit.service.scheduler.change_slot(visit.caller, ChangeSlot(job_id, slot, slot))


async def _run_now(visit: Visit, job_id: str) -> Result[str]:
    return await visit.service.scheduler.run_now(visit.caller, job_id)


ACTS: Final[dict[str, tuple[Act, Scope, str]]] = {
    "pause": (_pause, "schedule", "paused"),
    "resume": (_resume, "schedule", "resumed"),
    "skip": (_skip, "schedule", "skipped"),
    "restore": (_restore, "schedule", "restored"),
    "cancel": (_cancel, "schedule", "cancelled"),
    "run": (_run_now, "run", "asked"),
}
"""The buttons of a job: what they do, the scope they need, and the key in `MESSAGES` shown afterwards."""


def acting_on_job(name: str) -> Handler:
    act, _, done = ACTS[name]

    async def act_on_job(visit: Visit) -> Response:
        match await act(visit, visit.path("job_id")):
            case Err(code="not_found") as missing:
                raise Refused(missing)
            case Err() as problem:
                return await show_job(visit, problem)
            case Ok():
                return visit.go(f"/jobs/{(await find(visit)).number}?done={done}")

    return act_on_job


async def delete_job(visit: Visit) -> Response:
    deleted = await visit.service.scheduler.delete(visit.caller, visit.path("job_id"))
    if isinstance(deleted, Err):
        raise Refused(deleted)
    return visit.go("/jobs?done=deleted")
