"""The page of one job: its schedule, its past and next times, and its buttons."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Final, cast

import orjson
from starlette.responses import Response

from cronty.contract.codes import status_of
from cronty.contract.operations import AnyOperation, Operations
from cronty.contract.requests import (
    CancelJob,
    ChangeSlot,
    DeleteJob,
    PauseJob,
    Request,
    ResumeJob,
    RunJobNow,
    UndeleteJob,
)
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Job
from cronty.jobs.overview import LatestRun
from cronty.jobs.run import FAILED, LIVE, RUN_STATES, Run
from cronty.scheduler.answers import run_of
from cronty.scheduler.overview import YEAR_SHOWN
from cronty.timing import Slot, preview, zone
from cronty.timing.offsets import TICK
from cronty.web.dashboard.health import draw_health, state_of
from cronty.web.dashboard.heatmap import draw_days
from cronty.web.dashboard.security import local_path
from cronty.web.dashboard.visit import ErrorPage, Handler, Visit

RUNS: Final = 25
COMING: Final = 8
_CENTURY: Final = timedelta(days=36500)
"""A time that is farther away isn't one of a job."""

MESSAGES: Final = {
    "made": "The job is scheduled.",
    "edited": "The change is saved.",
    "paused": "The job is paused. Nothing runs until it is resumed.",
    "resumed": "The job is resumed.",
    "skipped": "That one is skipped. The schedule stays.",
    "moved": "That one is moved. The schedule stays.",
    "restored": "It runs at its planned time after all.",
    "cancelled": "The job has ended. Nothing more runs.",
    "asked": "It starts as soon as a worker is free.",
    "undeleted": "The job is back.",
    "again": "It is tried again.",
    "stopped": "The run is stopped. The schedule stays.",
}


async def show_job(visit: Visit, problem: Err | None = None) -> Response:
    job = await find(visit)
    scheduler, overview = visit.service.scheduler, visit.service.overview
    now, zone_name = await visit.clock()
    year, found = await asyncio.gather(
        overview.year(visit.caller, job.number), scheduler.list_runs(visit.caller, job.number, RUNS + 1)
    )
    runs = _page(found)
    latest = [LatestRun(run.scheduled_for, run.state, run.started_at) for run in runs[0]]
    days = [] if isinstance(year, Err) else year.value
    return visit.page(
        "job.html",
        200 if problem is None else status_of(problem.code),
        job=job,
        now=now,
        zone=zone_name,
        coming=coming(job, now),
        year=draw_days(days, job.created_at.astimezone(zone(job.zone)).date()),
        short=isinstance(year, Ok) and len(year.value) < YEAR_SHOWN,
        health=draw_health(latest),
        state=state_of(job, latest, now),
        running=next((run for run in runs[0] if run.state == "running"), None),
        usual=_usual(runs[0]),
        failed=next((run for run in runs[0] if run.state in FAILED), None),
        answers=[run for run in runs[0] if said_of(run)[1]][:2],
        runs=runs,
        groups=grouped(runs[0]),
        verdict="",
        verdicts=list(RUN_STATES),
        err=problem,
        message=_message(visit),
        why=why,
        said_of=said_of,
        run_of=run_of,
    )


def _message(visit: Visit) -> str | None:
    """What was just done."""
    said = MESSAGES.get(visit.query.get("done", ""))
    public = " It goes to a public ntfy topic: everybody who knows its name can read it."
    return said and said + (public if "public" in visit.query else "")


def _usual(runs: Sequence[Run]) -> float | None:
    """How many seconds the latest runs took, as a rule."""
    took = [
        (run.finished_at - run.started_at).total_seconds()
        for run in runs
        if run.state == "done" and run.started_at and run.finished_at
    ]
    return median(took) if len(took) > 2 else None


def said_of(run: Run) -> tuple[str, bool]:
    """What a run answered, and whether in words; a result that isn't text is JSON."""
    if run.result is None:
        return "", False
    result: object = orjson.loads(run.result)
    if isinstance(result, dict):
        report = cast("dict[str, object]", result).get("report")
        if isinstance(report, str):
            return report, True
        if "quiet" in result:
            return "Nothing to report.", False
    return (result, True) if isinstance(result, str) else (run.result, False)


def grouped(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs in order; those that failed one after the other with the same error are one group."""
    groups: list[list[Run]] = []
    for run in runs:
        if groups and run.state == "failed" == groups[-1][-1].state and run.error == groups[-1][-1].error:
            groups[-1].append(run)
        else:
            groups.append([run])
    return groups


async def show_runs(visit: Visit) -> Response:
    """More runs of a job, or those with one verdict: only the rows."""
    job = await find(visit)
    verdict = visit.query.get("verdict", "")
    before = _moment(visit.query.get("before", ""))
    state = verdict if verdict in RUN_STATES else None
    found = await visit.service.scheduler.list_runs(visit.caller, job.number, RUNS + 1, before, state)
    now, zone_name = await visit.clock()
    runs = _page(found)
    facts = {"runs": runs, "groups": grouped(runs[0]), "verdict": state or "", "why": why, "said_of": said_of}
    return visit.page("run_rows.html", job=job, now=now, zone=zone_name, run_of=run_of, **facts)


async def find(visit: Visit) -> Job:
    found = await visit.service.scheduler.show(visit.caller, visit.path("job_id"))
    if isinstance(found, Err):
        raise ErrorPage(found)
    return found.value


def coming(job: Job, now: datetime) -> list[Slot]:
    """The job's next slots, no more than it will have."""
    if job.next_slot is None:
        return []
    count = COMING if job.remaining is None else min(COMING, job.remaining)
    slots = preview(job.slots, min(job.next_slot, now + _CENTURY) - TICK, count, job.zone)
    return [slot for slot in slots if job.ends_at is None or slot.utc <= job.ends_at]


def why(run: Run) -> str:
    """The reason for a verdict in one line, with how late it started and how often it was tried."""
    reason = run_of(run).reason
    parts = [reason] if reason else []
    if run.manual and not run.reason:
        parts.append("asked for by hand")
    if run.slots > 1:
        parts.append(f"stands for {run.slots} times")
    if run.attempt > 1:
        parts.append(f"attempt {run.attempt}" if run.state in LIVE else f"tried {run.attempt} times")
    return ", ".join(parts)


def _page(found: Result[list[Run]]) -> tuple[list[Run], str | None]:
    """A page of runs, and the cursor of the next page."""
    runs = [] if isinstance(found, Err) else found.value
    more = runs[RUNS - 1].scheduled_for.isoformat() if len(runs) > RUNS else None
    return runs[:RUNS], more


# -- doing something with it ---------------------------------------------------------------------------------------

type Ask = Callable[[Visit, str], Awaitable[Result[Request]]]
"""What a form asks of the job with this id."""


def _of_job(request: Callable[[str], Request]) -> Ask:
    async def ask(_visit: Visit, job_id: str) -> Result[Request]:
        return Ok(request(job_id))

    return ask


async def _skip(visit: Visit, job_id: str) -> Result[Request]:
    return Ok(ChangeSlot(job_id, visit.form.get("slot")))


async def _restore(visit: Visit, job_id: str) -> Result[Request]:
    slot = visit.form.get("slot", "")
    return Ok(ChangeSlot(job_id, slot, slot))


async def _move(visit: Visit, job_id: str) -> Result[Request]:
    to, slot = visit.form.text("to")[:200], visit.form.get("slot")
    if not to:
        return Err("bad_slot", "Say when it should run instead.", "For example: 17:30, or Friday at 09:00.", "to")
    return Ok(ChangeSlot(job_id, slot, to))


def _moment(text: str) -> datetime | None:
    """A time with its offset, or None."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment


ACTS: Final[dict[str, tuple[Ask, AnyOperation, str]]] = {
    "pause": (_of_job(PauseJob), Operations.pause_job, "paused"),
    "resume": (_of_job(ResumeJob), Operations.resume_job, "resumed"),
    "skip": (_skip, Operations.change_slot, "skipped"),
    "restore": (_restore, Operations.change_slot, "restored"),
    "move": (_move, Operations.change_slot, "moved"),
    "undelete": (_of_job(UndeleteJob), Operations.undelete_job, "undeleted"),
    "cancel": (_of_job(CancelJob), Operations.cancel_job, "cancelled"),
    "run": (_of_job(RunJobNow), Operations.run_job_now, "asked"),
}
"""The buttons of a job: what they ask, of which operation, and the key in `MESSAGES` shown afterwards."""


def acting_on_job(name: str) -> Handler:
    ask, operation, done = ACTS[name]

    async def act_on_job(visit: Visit) -> Response:
        """Then back to the page that asked, or to the job's."""
        in_place = visit.form.get("in") == "menu" and "hx-request" in visit.request.headers
        asked = await ask(visit, visit.path("job_id"))
        match asked if isinstance(asked, Err) else await visit.ask(operation, asked.value):
            case Err(code="not_found") as missing:
                raise ErrorPage(missing)
            case Err() as problem:
                return await show_slot(visit, problem) if in_place else await show_job(visit, problem)
            case Ok():
                then = visit.form.get("next")
                where = f"/jobs/{(await find(visit)).number}" if then is None else local_path(then)
                where += f"{'&' if '?' in where else '?'}done={done}"
                return Response(headers={"hx-redirect": where}) if in_place else visit.go(where)

    return act_on_job


async def show_slot(visit: Visit, problem: Err | None = None) -> Response:
    """One time of a job, to be moved or skipped: what opens at it."""
    job = await find(visit)
    now, zone_name = await visit.clock()
    given = visit.form if visit.form else visit.query
    slot = _moment(given.get("slot", ""))
    if slot is None or abs(slot - now) > _CENTURY:
        raise ErrorPage(Err("not_found", "There is no such time."))
    change = next((one for one in job.changes if slot in (one.slot, one.to)), None)
    facts = {"slot": slot, "change": change, "to": visit.form.text("to"), "next": local_path(given.get("next"))}
    # 200 also for a problem: only then does the answer take its place in the page.
    return visit.page("slot.html", job=job, now=now, zone=zone_name, wrong=problem, **facts)


async def delete_job(visit: Visit) -> Response:
    job = await find(visit)
    deleted = await visit.ask(Operations.delete_job, DeleteJob(str(job.number)))
    if isinstance(deleted, Err):
        raise ErrorPage(deleted)
    return visit.go(f"/jobs?done=deleted&n={job.number}")
