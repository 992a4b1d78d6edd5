"""What happens to runs, as it happens: server-sent events that a client can take up again where it lost them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Annotated, Final

import orjson
from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from cronty.jobs.answers import moment_text
from cronty.jobs.overview import RunEvent
from cronty.jobs.result import Err, Result
from cronty.store.database import StoreUnavailable
from cronty.timing import BadTrigger
from cronty.timing.reading import read_moment
from cronty.web.rest.route import Answer, Asking, Asks, Room, bearer

MOST_LISTENERS: Final = 20
"""Of one owner, in one process."""

QUIET_FOR: Final = 15.0
"""Seconds without an event before the line is kept alive, and between two looks at the token."""

AWAY_FOR: Final = 1.0
"""Seconds before the database is asked again that can't be reached."""

EXAMPLE: Final = (
    "id: 2026-11-16T08:00:01.204512+00:00\nevent: run\n"
    'data: {"at":"2026-11-16T08:00:01.204512+00:00","run_id":"run_12_1794816000000000","job_id":"12",'
    '"name":"stand-up","scheduled_for":"2026-11-16T08:00:00+00:00","verdict":"done","attempt":1,"reason":null,'
    '"error":null}\n\n'
)

room = Room("runs")


FURTHEST_BACK: Final = timedelta(days=1)
"""Events of longer ago are runs to be listed, and reading them would cost what history there is."""


class Listeners:
    """How many listen for each owner."""

    def __init__(self) -> None:
        self._of = Counter[str]()

    def full(self, owner: str) -> bool:
        return self._of[owner] >= MOST_LISTENERS

    @contextmanager
    def one(self, owner: str) -> Generator[None]:
        self._of[owner] += 1
        try:
            yield
        finally:
            self._of[owner] -= 1
            if not self._of[owner]:
                del self._of[owner]


@room.operation("GET", "/events", "read", EXAMPLE, 429, headers={"Last-Event-ID": "Where the stream begins."})
async def events(
    ask: Asks,
    request: Request,
    after: Annotated[
        str | None, Query(description="Begin after this moment. Default: now.", examples=["2026-11-16T08:00:00Z"])
    ] = None,
    last_event_id: Annotated[
        str | None, Header(description="Where a lost connection goes on; browsers send it.")
    ] = None,
) -> Result[Answer] | Response:
    """Server-sent events of what happens to runs: `event: run` with its job, slot, verdict, attempt and reason as
    JSON. The `id` of each is where `Last-Event-ID` goes on after it; it never falls, while an event that a worker wrote
    down late keeps its own `at`. Comments keep the line alive."""
    listeners: Listeners = request.app.state.listeners
    if listeners.full(ask.owner):
        said = f"{MOST_LISTENERS} connections listen for this owner already; more aren't allowed."
        return Err("too_many_listeners", said, "Close one, or share it.")
    try:
        start = await _start(ask, last_event_id or after)
    except BadTrigger as bad:
        return Err("bad_cursor", f"Invalid event id: {bad.message}", "Use the id of an event, or none.")
    stream = _told(ask, request, listeners, start)
    headers = {"last-event-id": start.isoformat(), "x-accel-buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _start(ask: Asking, said: str | None) -> datetime:
    """Not in the future, which would make other listeners of the owner wait for it, and no further back than a day."""
    given = None if said is None else read_moment(said.strip(), "UTC").astimezone(UTC)
    now, _ = await ask.doors.scheduler.clock(ask.owner)
    return now if given is None else min(now, max(now - FURTHEST_BACK, given))


async def _told(ask: Asking, request: Request, listeners: Listeners, after: datetime) -> AsyncGenerator[str]:
    """Until the client leaves, or its token is no longer good."""
    with listeners.one(ask.owner):
        yield f"id: {after.isoformat()}\nretry: 2000\n: listening\n\n"
        async with ask.doors.overview.listen(ask.owner, after) as listener:
            asked = monotonic()
            found: list[RunEvent] = []  # kept when the token can't be looked at
            while True:
                try:
                    found = found or await listener.wait(QUIET_FOR)
                    if monotonic() - asked >= QUIET_FOR:
                        if isinstance(await request.app.state.who(bearer(request)), Err):
                            return
                        asked = monotonic()
                except StoreUnavailable:
                    yield ": the database can't be reached right now\n\n"
                    await asyncio.sleep(AWAY_FOR)
                    continue
                for event in found:
                    after = max(after, event.at)
                    yield frame(event, after)
                if not found:
                    yield ": nothing new\n\n"
                found = []


def frame(event: RunEvent, cursor: datetime) -> str:
    told = {
        "at": moment_text(event.at),
        "run_id": event.run_id,
        "job_id": str(event.job_number),
        "name": event.name,
        "scheduled_for": moment_text(event.scheduled_for),
        "verdict": event.verdict,
        "attempt": event.attempt,
        "reason": event.reason,
        "error": event.error,
    }
    return f"id: {moment_text(cursor)}\nevent: run\ndata: {orjson.dumps(told).decode()}\n\n"
