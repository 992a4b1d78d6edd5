"""The form to make or change a job, with a live preview of its schedule."""

from secrets import token_urlsafe

from starlette.responses import Response

from cronty.contract.codes import status_of
from cronty.contract.result import Err
from cronty.jobs.job import Job
from cronty.jobs.policy import CATCH_UPS, OVERLAPS
from cronty.web.dashboard.forms import changes_of, new_values, request_of, values_of
from cronty.web.dashboard.job import find
from cronty.web.dashboard.visit import Refused, Visit

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
    request = request_of(visit.form)
    made = request if isinstance(request, Err) else await visit.service.scheduler.schedule(visit.caller, request.value)
    if isinstance(made, Err):
        return await _form(visit, None, dict(visit.form), made)
    return visit.go(f"/jobs/{made.value.number}?done=made")


async def edit_job(visit: Visit) -> Response:
    job = await find(visit)
    return await _form(visit, job, values_of(job), None)


async def change_job(visit: Visit) -> Response:
    """Refused if the job has changed since the form was opened."""
    job = await find(visit)
    version = visit.form.text("version")
    expected = int(version) if version.isdecimal() and len(version) < 10 else -1
    changes = changes_of(visit.form, job, expected)
    edited = changes if isinstance(changes, Err) else await visit.service.scheduler.edit(visit.caller, changes.value)
    if isinstance(edited, Err) and edited.code != "bad_change":  # bad_change: nothing to change, which is fine
        if edited.code == "not_found":
            raise Refused(edited)
        return await _form(visit, job, dict(visit.form), edited)
    return visit.go(f"/jobs/{job.number}?done=edited")


async def _form(visit: Visit, job: Job | None, values: dict[str, str], problem: Err | None) -> Response:
    tasks = await visit.service.scheduler.list_tasks(visit.caller)
    channels = await visit.service.channels.list(visit.caller) if visit.caller.may("admin") else None
    agents = sorted(task.name.removeprefix("prompt:") for task in tasks if task.name.startswith("prompt:"))
    return visit.page(
        "job_form.html",
        200 if problem is None else status_of(problem.code),
        job=job,
        values=values,
        tasks=[task for task in tasks if ":" not in task.name and task.name not in ("prompt", "notify", "webhook")][
            :50
        ],
        agents=agents[:50],
        channels=[] if channels is None or isinstance(channels, Err) else channels.value,
        zones=COMMON_ZONES,
        overlaps=OVERLAPS,
        catch_ups=CATCH_UPS,
        err=problem,
        **await _previewed(visit, values.get("when", ""), values.get("zone", "")),
    )


async def show_preview(visit: Visit) -> Response:
    """What the schedule means and its next times, as a part of the form."""
    return visit.page(
        "preview.html", **await _previewed(visit, visit.query.get("when", ""), visit.query.get("zone", ""))
    )


async def _previewed(visit: Visit, when: str, zone_name: str) -> dict[str, object]:
    now, usual = await visit.clock()
    if not when.strip():
        return {"preview": None, "unread": None, "now": now}
    found = await visit.service.scheduler.preview(
        visit.caller, "words", {"text": when.strip()[:500]}, zone_name.strip()[:100] or usual, PREVIEWED
    )
    if isinstance(found, Err):
        return {"preview": None, "unread": found, "now": now}
    return {"preview": found.value, "unread": None, "now": now}
