"""What changes, as it changes: a stream of events for pages that are open."""

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
from cronty.web.dashboard.visit import Handler, Visit
from cronty.web.who import WhoCalls

AWAY_FOR: Final = 1.0
ASK_WHO_EVERY: Final = 5.0
LONGEST: Final = 900.0
"""Then the browser connects again."""


def live(who: WhoCalls) -> Handler:
    async def show_live(visit: Visit) -> Response:
        return StreamingResponse(_events(visit, who, await _start(visit)), media_type="text/event-stream")

    return show_live


async def _events(visit: Visit, who: WhoCalls, after: datetime) -> AsyncGenerator[bytes]:
    """Nothing is asked of the database unless somebody listens, and nobody listens with a key that was revoked."""
    started = asked = monotonic()
    events: list[RunEvent] = []  # kept when the key can't be looked at
    yield b"retry: 2000\n\n"
    async with visit.service.overview.listen(visit.caller, after) as listener:
        while monotonic() - started < LONGEST:
            try:
                events = events or await listener.wait(ASK_WHO_EVERY)
                if visit.auth and monotonic() - asked >= ASK_WHO_EVERY and isinstance(await who(visit.session), Err):
                    return
            except StoreUnavailable:
                await asyncio.sleep(AWAY_FOR)
                continue
            if monotonic() - asked >= ASK_WHO_EVERY:
                asked = monotonic()
                yield b": here\n\n"
            if events:
                yield _said(events)
                events = []


async def _start(visit: Visit) -> datetime:
    """A moment ago: events come a little late, and none should fall between the page and the stream."""
    now, _ = await visit.clock()
    return now - timedelta(seconds=2)


def _said(events: list[RunEvent]) -> bytes:
    facts = {"jobs": sorted({event.job_number for event in events}), "runs": [event.run_id for event in events][-100:]}
    return b"event: changed\ndata: " + orjson.dumps(facts) + b"\n\n"
