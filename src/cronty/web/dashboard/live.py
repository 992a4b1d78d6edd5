"""A stream of change events for open pages."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

import orjson
from starlette.responses import Response

from cronty.contract.result import Err
from cronty.jobs.overview import RunEvent
from cronty.scheduler.listeners import Place
from cronty.scheduler.service import StoreUnavailable
from cronty.web.dashboard.visit import ErrorPage, Visit
from cronty.web.streams import EventResponse

AWAY_FOR: Final = 1.0
QUIET_FOR: Final = 5.0
"""Seconds without an event before a sign of life."""

LONGEST: Final = 900.0
"""Seconds after which the stream ends; the browser then connects again."""


async def show_live(visit: Visit) -> Response:
    taken = visit.service.listeners.take(visit.caller)
    if isinstance(taken, Err):
        raise ErrorPage(taken)
    place = taken.value
    try:
        start = await _start(visit)
    except BaseException:
        place.leave()
        raise
    return EventResponse(_events(visit, place, start), place)


async def _events(visit: Visit, place: Place, after: datetime) -> AsyncGenerator[bytes]:
    """Change events until the page closes, its key is revoked, or `LONGEST` has passed."""
    started = monotonic()
    yield b"retry: 2000\n\n"
    async with visit.service.overview.listen(visit.caller, after) as listener:
        place.when_ended = listener.wake
        while monotonic() - started < LONGEST and not place.ended:
            try:
                events = await listener.wait(QUIET_FOR)
            except StoreUnavailable:
                await asyncio.sleep(AWAY_FOR)
                continue
            if place.ended:
                return
            yield _frame(events) if events else b": here\n\n"


async def _start(visit: Visit) -> datetime:
    """Two seconds ago: events arrive a little late, and none should be lost between the page and the stream."""
    now, _ = await visit.clock()
    return now - timedelta(seconds=2)


def _frame(events: list[RunEvent]) -> bytes:
    facts = {"jobs": sorted({event.job_number for event in events}), "runs": [event.run_id for event in events][-100:]}
    return b"event: changed\ndata: " + orjson.dumps(facts) + b"\n\n"
