"""The form to make or change a job, with a live preview of its schedule."""

from secrets import token_urlsafe
from typing import Final

from starlette.responses import Response

from cronty.contract.answers import ScheduledJob
from cronty.contract.codes import status_of
from cronty.contract.operation import Operation
from cronty.contract.operations import Operations
from cronty.contract.result import Err, Result
from cronty.jobs.action import ROUTED
from cronty.jobs.ids import read_job_id
from cronty.jobs.job import Job
from cronty.web.dashboard.forms import changes_of, field_of, new_values, request_of, values_of
from cronty.web.dashboard.job import find
from cronty.web.dashboard.visit import ErrorPage, Visit

PREVIEWED = 5
COMMON_ZONES = (
    "UTC", "Europe/London", "Europe/Berlin", "Europe/Paris", "Europe/Madrid", "Europe/Warsaw", "Europe/Kyiv",
    "Europe/Istanbul", "Africa/Cairo", "Africa/Lagos", "Africa/Johannesburg", "Asia/Dubai", "Asia/Karachi",
    "Asia/Kolkata", "Asia/Bangkok", "Asia/Singapore", "Asia/Shanghai", "Asia/Tokyo", "Asia/Seoul",
    "Australia/Sydney", "Pacific/Auckland", "America/New_York", "America/Toronto", "America/Chicago",
    "America/Denver", "America/Los_Angeles", "America/Mexico_City", "America/Bogota", "America/Sao_Paulo",
    "America/Buenos_Aires",
)  # fmt: skip


async def new_job(visit: Visit) -> Response:
    _, zone_name = await visit.clock()
    values = new_values(zone_name) | {"once": token_urlsafe(12)}
    return await _form(visit, None, values, None)


async def make_job(visit: Visit) -> Response:
    """The form has its own idempotency key, so sending it twice makes one job."""
    made = await _asked(visit, Operations.schedule_job, request_of(visit.form))
    if isinstance(made, Err):
        return await _form(visit, None, dict(visit.form), made)
    return visit.go(f"/jobs/{read_job_id(made.value.job_id)}?done=made{_public(made.value)}")


async def edit_job(visit: Visit) -> Response:
    job = await find(visit)
    return await _form(visit, job, values_of(job), None)


async def change_job(visit: Visit) -> Response:
    """ErrorPage if the job has changed since the form was opened."""
    job = await find(visit)
    version = visit.form.text("version")
    expected = int(version) if version.isdecimal() and len(version) < 10 else -1
    edited = await _asked(visit, Operations.edit_job, changes_of(visit.form, job, expected))
    if isinstance(edited, Err) and edited.code != "bad_change":  # bad_change: nothing to change, which is fine
        if edited.code == "not_found":
            raise ErrorPage(edited)
        return await _form(visit, job, dict(visit.form), edited)
    return visit.go(f"/jobs/{job.number}?done=edited{'' if isinstance(edited, Err) else _public(edited.value)}")


async def _asked[R](
    visit: Visit, operation: Operation[..., R, ScheduledJob], request: Result[R]
) -> Result[ScheduledJob]:
    return request if isinstance(request, Err) else await visit.ask(operation, request.value)


def _public(job: ScheduledJob) -> str:
    """A part of the address that has the next page say that everybody can read what it sends."""
    return "" if job.note is None else "&public=1"


async def _form(visit: Visit, job: Job | None, values: dict[str, str], problem: Err | None) -> Response:
    tasks = await visit.service.scheduler.list_tasks(visit.caller)
    admin = visit.caller.may("admin")
    channels = await visit.service.channels.list(visit.caller) if admin else None
    keys = await visit.service.identity.keys(visit.caller) if admin else []
    woken = sorted(task.name.removeprefix(ROUTED) for task in tasks if task.name.startswith(ROUTED))
    held = sorted({key.agent for key in keys if key.agent and key.revoked_at is None} - {*woken})
    values = values | ({"when": values["reading"]} if values.get("reading") else {})
    previewed = await _previewed(visit, values.get("when", ""), values.get("zone", ""))
    at = None if problem is None else field_of(problem)
    return visit.page(
        "job_form.html",
        200 if problem is None else status_of(problem.code),
        job=job,
        values=values,
        tasks=[task for task in tasks if ":" not in task.name and task.name not in _BUILT_IN][:50],
        agents=[(name, "woken by a worker") for name in woken[:20]] + [(name, "reads its inbox") for name in held[:20]],
        channels=[] if channels is None or isinstance(channels, Err) else channels.value,
        zones=COMMON_ZONES,
        # What is wrong with the time is said where the time is.
        err=problem if at is None else None,
        wrong={} if problem is None or at is None else {at: problem},
        **previewed,
    )


_BUILT_IN: Final = ("prompt", "notify", "webhook")


async def show_preview(visit: Visit) -> Response:
    """What the schedule means and its next times, as a part of the form."""
    facts = await _previewed(visit, visit.query.get("when", ""), visit.query.get("zone", ""))
    return visit.page("preview.html", apart=True, **facts)


async def _previewed(visit: Visit, when: str, zone_name: str) -> dict[str, object]:
    now, usual = await visit.clock()
    facts: dict[str, object] = {"preview": None, "unread": None, "now": now, "zone": usual}
    if not when.strip():
        return facts
    found = await visit.service.scheduler.preview(
        visit.caller, "words", {"text": when.strip()[:500]}, zone_name.strip()[:100] or usual, PREVIEWED
    )
    return facts | ({"unread": found} if isinstance(found, Err) else {"preview": found.value})
