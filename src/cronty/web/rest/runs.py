"""Runs: what became of each planned moment, and trying again what failed."""

from typing import Annotated

from fastapi import Query

from cronty.jobs.answers import attempt_answer, failed_answer, run_answer
from cronty.jobs.ids import job_id_text
from cronty.jobs.result import Err, Ok, Result
from cronty.web.rest.given import Before, JobId, Limit, RedriveBody, RunId, read_before
from cronty.web.rest.route import Answer, Asks, Room
from cronty.web.rest.shapes import FailedRuns, Redriven, RunDetail, Runs

room = Room("runs")

Verdict = Annotated[str | None, Query(description="Only runs with this verdict.", examples=["failed"])]


@room.operation("GET", "/jobs/{job_id}/runs", "read", Runs, 404)
async def list_runs(
    ask: Asks, job_id: JobId, limit: Limit = 20, before: Before = None, verdict: Verdict = None
) -> Result[Answer]:
    """The history of a job, newest first: every planned moment with its verdict and the reason."""
    door = ask.doors.scheduler
    shown = await door.show(ask.owner, job_id)
    if isinstance(shown, Err):
        return shown
    since = read_before(before)
    if isinstance(since, Err):
        return since
    found = await door.list_runs(ask.owner, job_id, limit, since, verdict)
    if isinstance(found, Err):
        return found
    job, runs = shown.value, found.value
    cursor = runs[-1].scheduled_for.isoformat() if len(runs) == limit else None
    told = [run_answer(run, job.zone, job.trigger) for run in runs]
    return Ok({"job_id": job_id_text(job.number, job.created_at), "runs": told, "cursor": cursor})


@room.operation("GET", "/runs/failed", "read", FailedRuns)
async def list_failed_runs(ask: Asks, limit: Limit = 20, before: Before = None) -> Result[Answer]:
    """What failed for good over all jobs, the latest first."""
    since = read_before(before)
    if isinstance(since, Err):
        return since
    found = await ask.doors.runs.failed(ask.owner, limit, since)
    if isinstance(found, Err):
        return found
    failed = found.value
    last = failed[-1].run.finished_at if len(failed) == limit else None
    return Ok({"runs": [failed_answer(one) for one in failed], "cursor": last.isoformat() if last else None})


@room.operation("GET", "/runs/{run_id}", "read", RunDetail, 404)
async def show_run(ask: Asks, run_id: RunId) -> Result[Answer]:
    """One run in full, with the attempts before its last."""
    found = await ask.doors.runs.show(ask.owner, run_id)
    if isinstance(found, Err):
        return found
    run, job = found.value.run, found.value.job
    attempts = [attempt_answer(one, job.zone) for one in found.value.attempts]
    facts: dict[str, object] = {"job_id": job_id_text(job.number, job.created_at), "name": job.name}
    return Ok(facts | run_answer(run, job.zone, job.trigger) | {"attempts": attempts})


@room.operation("POST", "/runs/redrive", "run", Redriven, 413)
async def redrive_runs(ask: Asks, body: RedriveBody) -> Result[Answer]:
    """Try failed runs again, now, each under its own id and with a new round of attempts."""
    tried = await ask.doors.runs.redrive(ask.owner, body.run_ids)
    if isinstance(tried, Err):
        return tried
    again = [run for run, accepted in tried.value.items() if accepted]
    return Ok({"redriven": again, "refused": [run for run in tried.value if run not in again]})
