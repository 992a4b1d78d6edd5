"""Jobs: list, make, look, change, hold, end, run."""

import re
from hashlib import sha256
from typing import Annotated, Final

import orjson
from fastapi import Header, Query, Response

from cronty.actions.notify import undeliverable
from cronty.jobs.action import Action
from cronty.jobs.answers import deleted_answer, scheduled_answer, status_answer, summary_answer
from cronty.jobs.ids import job_id_text
from cronty.jobs.job import Job as JobRow
from cronty.jobs.result import Err, Ok, Result
from cronty.scheduler.moments import read_span
from cronty.scheduler.requests import JobChanges, JobRequest, changed_action
from cronty.store.job_store import Filter
from cronty.web.problems import problem
from cronty.web.rest.given import Before, JobBody, JobEdit, JobId, JobsWanted, Limit, read_before
from cronty.web.rest.route import Answer, Asking, Asks, Room, reply
from cronty.web.rest.shapes import DeletedJobs, Job, JobList, Scheduled, Started

LAST_RUNS: Final = 10
TAGGED: Final = {"ETag": "The job's version, for If-Match."}

_TAG: Final = re.compile(r'"([0-9]{1,18})(?:-[0-9a-f]+)?"')

room = Room("jobs")

IfMatch = Annotated[str | None, Header(description="Refuse if the job has another version than this ETag.")]


@room.operation("GET", "/jobs", "read", JobList)
async def list_jobs(ask: Asks, wanted: Annotated[JobsWanted, Query()]) -> Result[Answer]:
    """A page of jobs, those that fire next first."""
    door = ask.doors.scheduler
    span = await read_span(door, ask.owner, wanted.since, wanted.until)
    if isinstance(span, Err):
        return span
    named = Filter(
        wanted.status, wanted.name, wanted.tag, wanted.task, span.value.since, span.value.until, wanted.topic
    )
    found = await door.list_jobs(ask.owner, named, wanted.limit, wanted.cursor)
    if isinstance(found, Err):
        return found
    page = found.value
    return Ok({"jobs": [summary_answer(job) for job in page.jobs], "total": page.total, "cursor": page.cursor})


@room.operation(
    "POST", "/jobs", "schedule", Scheduled, 413, 429, status=201, headers={**TAGGED, "Location": "Where it is."}
)
async def schedule_job(
    ask: Asks,
    body: JobBody,
    idempotency_key: Annotated[
        str | None, Header(description="The same key never makes a second job: it answers with the first one.")
    ] = None,
) -> Result[Answer] | Response:
    """Make a job. It is durable: it fires with every client closed."""
    action = Action(body.task, tuple(body.args or ()), body.kwargs or {})
    if flaw := undeliverable(action):
        return flaw
    request = JobRequest(
        body.name,
        action,
        body.trigger_type,
        body.trigger_config,
        timezone=body.timezone,
        policy=body.policy or {},
        max_runs=body.max_runs,
        tags=body.tags or (),
        starts_at=body.starts_at,
        ends_at=body.ends_at,
        idempotency_key=idempotency_key,
        origin=ask.origin(),
        key_id=ask.caller.key_id,
    )
    made = await ask.doors.scheduler.schedule(ask.owner, request)
    return made if isinstance(made, Err) else _scheduled(made.value, 201)


@room.operation("GET", "/jobs/deleted", "read", DeletedJobs)
async def list_deleted_jobs(ask: Asks, limit: Limit = 20, before: Before = None) -> Result[Answer]:
    """Jobs that were deleted and can be brought back, the latest first."""
    since = read_before(before)
    if isinstance(since, Err):
        return since
    found = await ask.doors.scheduler.list_deleted(ask.owner, limit, since)
    if isinstance(found, Err):
        return found
    jobs = found.value
    last = jobs[-1].deleted_at if len(jobs) == limit else None
    return Ok({"jobs": [deleted_answer(job) for job in jobs], "cursor": last.isoformat() if last else None})


@room.operation("GET", "/jobs/{job_id}", "read", Job, 304, 404, headers=TAGGED)
async def job_status(
    ask: Asks,
    job_id: JobId,
    if_none_match: Annotated[str | None, Header(description="Answer 304 if it still has this ETag.")] = None,
) -> Result[Answer] | Response:
    """One job in full, with its last ten runs, each with its verdict and the reason."""
    shown = await _in_full(ask, await ask.doors.scheduler.show(ask.owner, job_id))
    if isinstance(shown, Err):
        return shown
    tag = _tag_of(shown.value)
    known = {one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers={"etag": tag})
    return reply(shown.value, headers={"etag": tag, "cache-control": "private, no-cache"})


@room.operation("PATCH", "/jobs/{job_id}", "schedule", Scheduled, 404, 409, 412, 413, 429, headers=TAGGED)
async def edit_job(ask: Asks, job_id: JobId, body: JobEdit, if_match: IfMatch = None) -> Result[Answer] | Response:
    """Change a job from its next run on, recurring ones too. Only what is given changes."""
    door = ask.doors.scheduler
    shown = await door.show(ask.owner, job_id)
    if isinstance(shown, Err):
        return shown
    version = shown.value.version
    if if_match is not None and not _matches(if_match, version):
        said = f"Job {job_id} is at version {version}, which is none of If-Match: {if_match[:80]}."
        hint = "Look at it again and repeat the change with its current ETag."
        return problem(Err("version_conflict", said, hint))
    action = changed_action(shown.value.action, body.task, body.args, body.kwargs)
    if action is not None and (flaw := undeliverable(action)):
        return flaw
    changes = JobChanges(
        name=body.name,
        action=action,
        trigger_type=body.trigger_type,
        trigger_config=body.trigger_config,
        timezone=body.timezone,
        policy=body.policy,
        max_runs=body.max_runs,
        tags=body.tags,
        ends_at=body.ends_at,
    )
    if changes == JobChanges():
        return Err("bad_change", "Nothing to change was given.", "Name at least one field to change.")
    expected = version if if_match is not None or action is not None else None
    result = await door.edit(ask.owner, job_id, changes, expected, key_id=ask.caller.key_id)
    return result if isinstance(result, Err) else _scheduled(result.value, 200)


@room.operation("POST", "/jobs/{job_id}/pause", "schedule", Job, 404, 409)
async def pause_job(ask: Asks, job_id: JobId) -> Result[Answer]:
    """Hold a job: nothing fires until it is resumed. Pausing a paused one changes nothing."""
    return await _in_full(ask, await ask.doors.scheduler.pause(ask.owner, job_id))


@room.operation("POST", "/jobs/{job_id}/resume", "schedule", Job, 404, 409)
async def resume_job(ask: Asks, job_id: JobId) -> Result[Answer]:
    """Let a paused job go on with its next future slot; the slots it slept through are skipped."""
    return await _in_full(ask, await ask.doors.scheduler.resume(ask.owner, job_id, key_id=ask.caller.key_id))


@room.operation("POST", "/jobs/{job_id}/cancel", "schedule", Job, 404)
async def cancel_job(ask: Asks, job_id: JobId) -> Result[Answer]:
    """End a job: nothing more fires, what runs is asked to stop. It stays listed. Repeatable."""
    return await _in_full(ask, await ask.doors.scheduler.cancel(ask.owner, job_id))


@room.operation("DELETE", "/jobs/{job_id}", "schedule", None, 404, status=204)
async def delete_job(ask: Asks, job_id: JobId) -> Result[Answer] | Response:
    """End a job and hide it. For 30 days it can be undeleted; then it goes, with the history of its runs."""
    gone = await ask.doors.scheduler.delete(ask.owner, job_id)
    return gone if isinstance(gone, Err) else Response(status_code=204)


@room.operation("POST", "/jobs/{job_id}/undelete", "schedule", Job, 404, 409, 429)
async def undelete_job(ask: Asks, job_id: JobId) -> Result[Answer]:
    """Bring a deleted job back as it was; one that was to go on does so with its next slot from now. Repeatable."""
    return await _in_full(ask, await ask.doors.scheduler.undelete(ask.owner, job_id, key_id=ask.caller.key_id))


@room.operation("POST", "/jobs/{job_id}/run", "run", Started, 404, 409, 429, status=202)
async def run_job_now(ask: Asks, job_id: JobId) -> Result[Answer]:
    """Run a job once, now, beside its schedule, which stays as it is."""
    started = await ask.doors.scheduler.run_now(ask.owner, job_id)
    return started if isinstance(started, Err) else Ok({"run_id": started.value, "job_id": job_id})


async def _in_full(ask: Asking, found: Result[JobRow]) -> Result[Answer]:
    if isinstance(found, Err):
        return found
    runs = await ask.doors.scheduler.list_runs(ask.owner, found.value.number, LAST_RUNS)
    return Ok(status_answer(found.value, [] if isinstance(runs, Err) else runs.value))


def _scheduled(job: JobRow, status: int) -> Response:
    headers = {"etag": f'"{job.version}"'}
    if status == 201:
        headers["location"] = f"/api/v1/jobs/{job_id_text(job.number, job.created_at)}"
    return reply(scheduled_answer(job), status, headers)


def _tag_of(shown: Answer) -> str:
    """The version, and what else may have changed without one: its runs."""
    return f'"{shown["version"]}-{sha256(orjson.dumps(shown)).hexdigest()[:16]}"'


def _matches(if_match: str, version: int) -> bool:
    """Whether one of these ETags is of this version, whatever its runs have done since."""
    tags = [one.strip() for one in if_match.split(",")]
    return "*" in tags or any((found := _TAG.fullmatch(tag)) and int(found[1]) == version for tag in tags)
