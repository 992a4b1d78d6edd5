"""The list of jobs, with search, filters and paging; pauses or resumes all jobs with a tag."""

from urllib.parse import urlencode

from starlette.responses import Response

from cronty.contract.result import Err
from cronty.jobs.job import STATUSES, Filter
from cronty.scheduler.tagged import pause_tagged, resume_tagged
from cronty.web.dashboard.formats import number
from cronty.web.dashboard.visit import Refused, Visit

LISTED = 25
MAX_TASKS = 50


async def show_jobs(visit: Visit) -> Response:
    """The page; with a cursor, only the next rows."""
    asked = {name: visit.query.get(name, "").strip()[:200] for name in ("q", "status", "tag", "kind")}
    if asked["status"] and asked["status"] not in STATUSES:
        asked["status"] = ""
    wanted = Filter(asked["status"] or None, asked["q"] or None, asked["tag"] or None, asked["kind"] or None)
    cursor = visit.query.get("cursor") or None
    found = await visit.service.scheduler.list_jobs(visit.caller, wanted, LISTED, cursor, for_display=True)
    if isinstance(found, Err):
        raise Refused(found)
    now, zone_name = await visit.clock()
    facts = {"now": now, "zone": zone_name, "asked": asked, "listed": found.value}
    if cursor is not None and "hx-request" in visit.request.headers:
        return visit.page("job_rows.html", **facts)
    tasks = [task.name for task in await visit.service.scheduler.list_tasks(visit.caller) if ":" not in task.name]
    return visit.page(
        "jobs.html",
        **facts,
        tags=await visit.service.overview.tags(visit.caller),
        tasks=[name for name in tasks if name not in ("prompt", "notify", "webhook")][:MAX_TASKS],
        statuses=STATUSES,
        message=_message(visit),
    )


async def change_tagged(visit: Visit) -> Response:
    """Pause or resume every job with a tag."""
    tag, scheduler = visit.form.get("tag", ""), visit.service.scheduler
    if visit.form.get("do") == "pause":
        changed, done = await pause_tagged(scheduler, visit.caller, tag), "paused"
    else:
        changed, done = await resume_tagged(scheduler, visit.caller, tag), "resumed"
    if isinstance(changed, Err):
        raise Refused(changed)
    facts = {"tag": tag, "done": done, "n": changed.value.jobs} | ({"more": 1} if changed.value.more else {})
    return visit.go(f"/jobs?{urlencode(facts)}")


def _message(visit: Visit) -> str | None:
    """What was just done. Only numbers are taken from the URL, never text."""
    count = visit.query.get("n", "0")
    jobs = f"{number(int(count))} job{'' if count == '1' else 's'}" if count.isdecimal() and len(count) < 7 else "jobs"
    more = " There are more; do it again for those." if "more" in visit.query else ""
    return {
        "deleted": "The job is deleted. The history of its runs is kept.",
        "paused": f"Paused {jobs} with this tag.{more}",
        "resumed": f"Resumed {jobs} with this tag.{more}",
    }.get(visit.query.get("done", ""))
