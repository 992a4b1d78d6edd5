"""The first page: the last and the next 24 hours, what needs attention, what comes next."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from cronty.contract.result import Err
from cronty.jobs.overview import Timeline, Verdict
from cronty.jobs.run import run_id
from cronty.web.dashboard.sparkline import draw_lag
from cronty.web.dashboard.timeline import draw_timeline
from cronty.web.dashboard.visit import Refused, Visit

NEXT = 8
CONCERNS = 6
LATEST = 9


async def show_now(visit: Visit) -> Response:
    overview = visit.service.overview
    now, zone_name = await visit.clock()
    line, lag, concerns, coming = await asyncio.gather(
        overview.timeline(visit.caller),
        overview.lag(visit.caller),
        overview.concerns(visit.caller, CONCERNS),
        visit.service.scheduler.list_jobs(visit.caller, limit=NEXT, for_display=True),
    )
    if isinstance(coming, Err):
        raise Refused(coming)
    return visit.page(
        "now.html",
        now=now,
        zone=zone_name,
        drawing=draw_timeline(line, zone_name),
        lag=draw_lag(lag),
        concerns=concerns,
        coming=[job for job in coming.value.jobs if job.next_slot is not None],
        total=coming.value.total,
        latest=[*_latest(line)] if line.slots is not None else await _latest_events(visit),
    )


@dataclass(frozen=True, slots=True)
class Latest:
    """A run as the first page shows it."""

    run_id: str
    name: str
    verdict: Verdict
    at: datetime
    why: str | None


def _latest(line: Timeline) -> Iterator[Latest]:
    passed = [slot for slot in line.slots or [] if slot.verdict != "planned"]
    for slot in sorted(passed, key=lambda one: one.scheduled_for, reverse=True)[:LATEST]:
        yield Latest(
            run_id(slot.job_number, slot.scheduled_for), slot.name, slot.verdict, slot.scheduled_for, slot.reason
        )


async def _latest_events(visit: Visit) -> list[Latest]:
    """The latest events, for an owner with too many slots to list."""
    events = await visit.service.overview.events(visit.caller)
    return [
        Latest(one.run_id, one.name, one.verdict, one.at, one.error or one.reason) for one in reversed(events[-LATEST:])
    ]
