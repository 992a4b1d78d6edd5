"""The first page: the last and the next 24 hours, what needs attention, what was answered, what comes next."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from starlette.responses import Response

from cronty.contract.result import Err, Ok
from cronty.jobs.envelope import Envelope
from cronty.jobs.overview import Timeline, Verdict
from cronty.jobs.run import FAILED, run_id
from cronty.web.dashboard.first import show_first
from cronty.web.dashboard.sparkline import draw_lag
from cronty.web.dashboard.timeline import counted, draw_timeline
from cronty.web.dashboard.visit import ErrorPage, Visit

NEXT: Final = 9
CONCERNS: Final = 6
RESULTS: Final = 5
LATEST: Final = 6
OF_ONE_JOB: Final = 2
"""Rows of the latest runs that one job may take up."""
WAITING: Final = 4
RESULTS_OF: Final = timedelta(days=3)


async def show_now(visit: Visit) -> Response:
    overview = visit.service.overview
    now, zone_name = await visit.clock()
    line, lag, concerns, results, coming, waiting = await asyncio.gather(
        overview.timeline(visit.caller),
        overview.lag(visit.caller),
        overview.concerns(visit.caller, CONCERNS),
        overview.results(visit.caller, now - RESULTS_OF, RESULTS),
        visit.service.scheduler.list_jobs(visit.caller, limit=NEXT, for_display=True),
        _waiting(visit),
    )
    if isinstance(coming, Err):
        raise ErrorPage(coming)
    new = not coming.value.total and "plain" not in visit.query
    if (new or "first" in visit.query) and visit.may("schedule_job", "notify"):
        return await show_first(visit)
    return visit.page(
        "now.html",
        now=now,
        zone=zone_name,
        line=line,
        drawing=draw_timeline(line, zone_name),
        often=counted(line.often),
        lag=draw_lag(lag),
        concerns=concerns,
        results=[one for one in results if one.is_text] or results[:3],
        coming=[job for job in coming.value.jobs if job.next_slot is not None],
        total=coming.value.total,
        waiting=waiting,
        latest=[] if results else few_of_each([*_latest(line)] or await _latest_events(visit)),
        message=MESSAGES.get(visit.query.get("done", "")),
    )


MESSAGES: Final = {
    "again": "It is tried again.",
    "resumed": "The job is resumed.",
    "paused": "The job is paused. Nothing runs until it is resumed.",
    "asked": "It starts as soon as a worker is free.",
}


async def _waiting(visit: Visit) -> list[Envelope]:
    """The prompts that have waited longest."""
    if not visit.caller.may("prompts"):
        return []
    found = await visit.service.inbox.peek(visit.caller, WAITING)
    return found.value if isinstance(found, Ok) else []


@dataclass(frozen=True, slots=True)
class Latest:
    """A run as the first page shows it."""

    run_id: str
    job_number: int
    name: str
    verdict: Verdict
    at: datetime
    why: str | None
    more: int = 0
    """How many earlier ones of the same job this row stands for."""
    more_failed: int = 0


def few_of_each(latest: Sequence[Latest]) -> list[Latest]:
    """The first rows, at most `OF_ONE_JOB` of a job: one that comes often must not push the others out."""
    rows: dict[int, list[Latest]] = {}
    for one in latest:
        rows.setdefault(one.job_number, []).append(one)
    shown: list[Latest] = []
    for mine in rows.values():
        *first, last = mine[:OF_ONE_JOB]
        rest = mine[OF_ONE_JOB:]
        shown += [*first, replace(last, more=len(rest), more_failed=sum(one.verdict in FAILED for one in rest))]
    return sorted(shown, key=lambda one: one.at, reverse=True)[:LATEST]


def _latest(line: Timeline) -> Iterator[Latest]:
    passed = [slot for slot in line.slots or [] if slot.verdict != "planned"]
    for slot in sorted(passed, key=lambda one: one.scheduled_for, reverse=True):
        run = run_id(slot.job_number, slot.scheduled_for)
        yield Latest(run, slot.job_number, slot.name, slot.verdict, slot.scheduled_for, slot.reason)


async def _latest_events(visit: Visit) -> list[Latest]:
    """The latest events, for an owner whose jobs all come often."""
    events = await visit.service.overview.events(visit.caller)
    return [
        Latest(one.run_id, one.job_number, one.name, one.verdict, one.at, one.error or one.reason)
        for one in reversed(events)
    ]
