"""A stream of change events for open pages."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

import orjson
from starlette.responses import Response, StreamingResponse

from cronty.contract.result import Err
from cronty.jobs.overview import RunEvent
from cronty.scheduler.service import StoreUnavailable
from cronty.web.callers import FindCaller
from cronty.web.dashboard.visit import Handler, Visit

AWAY_FOR: Final = 1.0
CHECK_KEY_EVERY: Final = 5.0
LONGEST: Final = 900.0
"""Seconds after which the stream ends; the browser then connects again."""


def live(find_caller: FindCaller) -> Handler:
    async def show_live(visit: Visit) -> Response:
        return StreamingResponse(_events(visit, find_caller, await _start(visit)), media_type="text/event-stream")

    return show_live


async def _events(visit: Visit, find_caller: FindCaller, after: datetime) -> AsyncGenerator[bytes]:
    """Change events until the page closes, its key is revoked, or `LONGEST` has passed."""
    started = checked = monotonic()
    events: list[RunEvent] = []  # kept when the key can't be checked
    yield b"retry: 2000\n\n"
    async with visit.service.overview.listen(visit.caller, after) as listener:
        while monotonic() - started < LONGEST:
            try:
                events = events or await listener.wait(CHECK_KEY_EVERY)
                is_due = visit.auth and monotonic() - checked >= CHECK_KEY_EVERY
                if is_due and isinstance(await find_caller(visit.session), Err):
                    return
            except StoreUnavailable:
                await asyncio.sleep(AWAY_FOR)
                continue
            if monotonic() - checked >= CHECK_KEY_EVERY:
                checked = monotonic()
                yield b": here\n\n"
            if events:
                yield _frame(events)
                events = []


async def _start(visit: Visit) -> datetime:
    """Two seconds ago: events arrive a little late, and none should be lost between the page and the stream."""
    now, _ = await visit.clock()
    return now - timedelta(seconds=2)


def _frame(events: list[RunEvent]) -> bytes:
    facts = {"jobs": sorted({event.job_number for event in events}), "runs": [event.run_id for event in events][-100:]}
    return b"event: changed\ndata: " + orjson.dumps(facts) + b"\n\n"
