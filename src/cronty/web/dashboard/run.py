"""The page of one run: how a slot ended, attempt by attempt."""

from starlette.responses import Response

from cronty.contract.codes import status_of
from cronty.contract.result import Err
from cronty.jobs.run import receipt
from cronty.scheduler.answers import run_of
from cronty.web.dashboard.job import why
from cronty.web.dashboard.visit import Refused, Visit

AGAIN = ("failed", "quarantined")


async def show_run(visit: Visit, problem: Err | None = None) -> Response:
    found = await visit.service.runs.show(visit.caller, visit.path("run_id"))
    if isinstance(found, Err):
        raise Refused(found)
    now, _ = await visit.clock()
    run, job = found.value.run, found.value.job
    return visit.page(
        "run.html",
        200 if problem is None else status_of(problem.code),
        run=run,
        job=job,
        attempts=found.value.attempts[-20:],
        now=now,
        why=why(run),
        moved_from=run_of(run, job.zone, job.trigger).moved_from,
        receipt=receipt(run.job_number, run.scheduled_for, run.attempt) if run.attempt else None,
        again=run.state in AGAIN,
        err=problem,
        message="It is tried again, under the same id." if visit.query.get("done") == "again" else None,
    )


async def redrive(visit: Visit) -> Response:
    """Try a failed run again; from its own page or, several at once, from the dead letters."""
    runs = visit.form.lists.get("run", [])[:1000]
    found = await visit.service.runs.redrive(visit.caller, runs)
    alone = len(runs) == 1 and visit.form.get("from") == "run"
    if isinstance(found, Err):
        if runs:
            raise Refused(found)
        return visit.go("/fleet?done=none")
    again = sum(found.value.values())
    if alone and not again:
        refusal = Err("not_found", "Only a failed run of a job that still exists can be tried again.")
        raise Refused(refusal)
    return visit.go(f"/runs/{runs[0]}?done=again" if alone else f"/fleet?done=again&n={again}")
