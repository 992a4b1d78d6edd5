"""The page of one run: what came of it, attempt by attempt."""

from starlette.responses import Response

from cronty.contract.codes import status_of
from cronty.contract.operations import Operations
from cronty.contract.requests import RedriveRuns, StopRun
from cronty.contract.result import Err
from cronty.jobs.run import FAILED, LIVE
from cronty.scheduler.answers import run_of
from cronty.web.dashboard.job import said_of, why
from cronty.web.dashboard.security import local_path
from cronty.web.dashboard.visit import ErrorPage, Visit

MESSAGES = {
    "again": "It is tried again.",
    "stopped": "It is stopped. One that was running may take a moment to end.",
}
OUTCOMES = {"lost": "lost its worker", "snoozed": "put it off", "interrupted": "was stopped"}
"""What an attempt did, if that isn't said by the name of its outcome."""


async def show_run(visit: Visit, problem: Err | None = None) -> Response:
    found = await visit.service.runs.show(visit.caller, visit.path("run_id"))
    if isinstance(found, Err):
        raise ErrorPage(found)
    now, zone_name = await visit.clock()
    run, job = found.value.run, found.value.job
    return visit.page(
        "run.html",
        200 if problem is None else status_of(problem.code),
        run=run,
        job=job,
        attempts=found.value.attempts[-20:],
        now=now,
        zone=zone_name,
        said_of=said_of,
        why=why(run),
        moved_from=run_of(run, job.zone, job.trigger).moved_from,
        outcomes=OUTCOMES,
        again=run.state in FAILED,
        live=run.state in LIVE,
        err=problem,
        message=MESSAGES.get(visit.query.get("done", "")),
    )


async def stop(visit: Visit) -> Response:
    """Stop a run that waits or is running; then back to the page that asked."""
    stopped = await visit.ask(Operations.stop_run, StopRun(visit.path("run_id")))
    if isinstance(stopped, Err):
        raise ErrorPage(stopped)
    where = local_path(visit.form.get("next")) if "next" in visit.form else f"/runs/{visit.path('run_id')}"
    return visit.go(f"{where}?done=stopped")


async def redrive(visit: Visit) -> Response:
    """Try a failed run again; from its own page or, several at once, from the list of failed runs."""
    runs = visit.form.lists.get("run", [])[:1000]
    found = await visit.ask(Operations.redrive_runs, RedriveRuns(runs))
    alone = len(runs) == 1 and ("next" in visit.form or visit.form.get("from") == "run")
    if isinstance(found, Err):
        if runs:
            raise ErrorPage(found)
        return visit.go("/fleet?done=none")
    again = len(found.value.redriven)
    if alone and not again:
        refusal = Err("not_found", "Only a failed run of a job that still exists can be tried again.")
        raise ErrorPage(refusal)
    if (then := visit.form.get("next")) is not None:
        return visit.go(f"{local_path(then)}?done=again")
    return visit.go(f"/runs/{runs[0]}?done=again" if alone else f"/fleet?done=again&n={again}")
