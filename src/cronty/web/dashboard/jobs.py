"""The list of jobs, with their health, search, filters and paging; pauses or resumes all jobs with a tag."""

import asyncio
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from cronty.contract.result import Err
from cronty.jobs.job import Filter
from cronty.jobs.overview import JobCounts
from cronty.scheduler.tagged import pause_tagged, resume_tagged
from cronty.web.dashboard.formats import number
from cronty.web.dashboard.health import draw_health, draw_key, state_of
from cronty.web.dashboard.visit import ErrorPage, Visit

LISTED: Final = 25
MAX_TASKS: Final = 50
TABS: Final = {
    "": "All",
    "failing": "Failing",
    "waiting": "Waiting for an agent",
    "paused": "Paused",
    "finished": "Finished",
}
_KEY: Final = ("done", "failed", "missed", "waiting", "skipped")


async def show_jobs(visit: Visit) -> Response:
    """The page; with a cursor, only the next rows."""
    asked = {name: visit.query.get(name, "").strip()[:200] for name in ("q", "show", "tag", "kind")}
    if asked["show"] not in TABS:
        asked["show"] = ""
    wanted = Filter(
        words=asked["q"] or None, tag=asked["tag"] or None, task=asked["kind"] or None, health=asked["show"] or None
    )
    cursor = visit.query.get("cursor") or None
    overview, scheduler = visit.service.overview, visit.service.scheduler
    found = await scheduler.list_jobs(visit.caller, wanted, LISTED, cursor, for_display=True)
    if isinstance(found, Err):
        raise ErrorPage(found)
    now, zone_name = await visit.clock()
    latest = await overview.latest_of(visit.caller, [job.number for job in found.value.jobs])
    facts: dict[str, object] = {
        "now": now,
        "zone": zone_name,
        "asked": asked,
        "listed": found.value,
        "health": {job.number: draw_health(latest.get(job.number, [])) for job in found.value.jobs},
        "states": {job.number: state_of(job, latest.get(job.number, []), now) for job in found.value.jobs},
    }
    if cursor is not None and "hx-request" in visit.request.headers:
        return visit.page("job_rows.html", **facts)
    tasks, tags, counts = await asyncio.gather(
        scheduler.list_tasks(visit.caller), overview.tags(visit.caller), overview.job_counts(visit.caller)
    )
    names = [task.name for task in tasks if ":" not in task.name]
    return visit.page(
        "jobs.html",
        **facts,
        tabs=_tabs(asked, counts),
        tags=tags,
        tasks=[name for name in names if name not in ("prompt", "notify", "webhook")][:MAX_TASKS],
        key=[draw_key(one) for one in _KEY],
        message=_message(visit),
        undo=_undo(visit),
    )


def _tabs(asked: dict[str, str], counts: JobCounts) -> list[dict[str, object]]:
    """The tabs over the list, each with its count and the rest of what was asked for."""
    tones = {"failing": "bad", "waiting": "wait"}
    kept = {name: value for name, value in asked.items() if value and name != "show"}
    return [
        {
            "label": label,
            "href": "/jobs" + (f"?{urlencode(query)}" if (query := kept | ({"show": show} if show else {})) else ""),
            "count": getattr(counts, show) if show else None,
            "tone": tones.get(show, "") if show and getattr(counts, show) else "",
            "here": show == asked["show"],
        }
        for show, label in TABS.items()
    ]


async def change_tagged(visit: Visit) -> Response:
    """Pause or resume every job with a tag."""
    tag, service = visit.form.get("tag", ""), visit.service
    if visit.form.get("do") == "pause":
        changed, done = await pause_tagged(service, visit.caller, tag), "paused"
    else:
        changed, done = await resume_tagged(service, visit.caller, tag), "resumed"
    if isinstance(changed, Err):
        raise ErrorPage(changed)
    facts = {"tag": tag, "done": done, "n": changed.value.jobs} | ({"more": 1} if changed.value.more else {})
    return visit.go(f"/jobs?{urlencode(facts)}")


def _count(visit: Visit) -> str:
    """A number in the URL: only numbers are taken from there, never text."""
    count = visit.query.get("n", "")
    return count if count.isdecimal() and len(count) < 10 else ""


def _undo(visit: Visit) -> str | None:
    """Where a press brings a deleted job back."""
    number_ = _count(visit)
    return f"/jobs/{number_}/undelete" if visit.query.get("done") == "deleted" and number_ else None


def _message(visit: Visit) -> str | None:
    """What was just done."""
    count = _count(visit)
    jobs = f"{number(int(count))} job{'' if count == '1' else 's'}" if count else "jobs"
    more = " There are more; do it again for those." if "more" in visit.query else ""
    return {
        "deleted": "The job is deleted. It can be brought back for 30 days.",
        "paused": f"Paused {jobs} with this tag.{more}",
        "resumed": f"Resumed {jobs} with this tag.{more}",
    }.get(visit.query.get("done", ""))
