"""Run events as server-sent events; a client that loses the connection can continue where it was."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from cronty.contract.answers import to_json
from cronty.contract.answers_of_owner import RunEvent as RunEventAnswer
from cronty.contract.caller import Caller
from cronty.contract.result import Err
from cronty.jobs.moments import moment_text
from cronty.jobs.overview import RunEvent
from cronty.scheduler.service import AWAY, Service, StoreUnavailable
from cronty.timing import BadTrigger
from cronty.timing.reading import read_moment
from cronty.web.problems import problem
from cronty.web.rest.request import bearer, caller_of, refused_token

MOST_LISTENERS: Final = 20
"""Connections of one owner, in one process."""

QUIET_FOR: Final = 15.0
"""Seconds without an event before a keep-alive comment, and between checks of the token."""

AWAY_FOR: Final = 1.0
"""Seconds before a database that can't be reached is tried again."""


FURTHEST_BACK: Final = timedelta(days=1)
"""Older events must be read with list_runs; streaming them could read all of the history."""


class Listeners:
    """Counts the connections of each owner."""

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


async def listen(request: Request) -> Response:
    caller = await caller_of(request)
    if isinstance(caller, Err):
        return refused_token(caller)
    owner, service = caller.value.owner, request.app.state.service()
    if not caller.value.may("read"):
        return problem(
            Err(
                "missing_scope",
                "events needs the scope read, which the token lacks.",
                "Use a token with the scope read.",
            )
        )
    listeners: Listeners = request.app.state.listeners
    if listeners.full(owner):
        message = f"{MOST_LISTENERS} connections listen for this owner already; more aren't allowed."
        return problem(Err("too_many_listeners", message, "Close one, or share it."))
    try:
        start = await _start(
            service, caller.value, request.headers.get("last-event-id") or request.query_params.get("after")
        )
    except BadTrigger as bad:
        return problem(Err("bad_cursor", f"Invalid event id: {bad.message}", "Use the id of an event, or none."))
    except StoreUnavailable:
        return problem(AWAY)
    stream = _stream(service, caller.value, request, listeners, start)
    headers = {"last-event-id": start.isoformat(), "x-accel-buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _start(service: Service, caller: Caller, after: str | None) -> datetime:
    """Where to start: at most a day back, and not in the future, which would delay the owner's other listeners."""
    given = None if after is None else read_moment(after.strip(), "UTC").astimezone(UTC)
    now, _ = await service.scheduler.clock(caller)
    return now if given is None else min(now, max(now - FURTHEST_BACK, given))


async def _stream(
    service: Service, caller: Caller, request: Request, listeners: Listeners, after: datetime
) -> AsyncGenerator[str]:
    """Events until the client leaves or its token is no longer valid."""
    with listeners.one(caller.owner):
        yield f"id: {after.isoformat()}\nretry: 2000\n: listening\n\n"
        async with service.overview.listen(caller, after) as listener:
            checked = monotonic()
            found: list[RunEvent] = []  # kept when the token can't be checked
            while True:
                try:
                    found = found or await listener.wait(QUIET_FOR)
                    if monotonic() - checked >= QUIET_FOR:
                        if isinstance(await request.app.state.find_caller(bearer(request)), Err):
                            return
                        checked = monotonic()
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
    answer = RunEventAnswer(
        at=event.at.astimezone(UTC),
        run_id=event.run_id,
        job_id=str(event.job_number),
        name=event.name,
        scheduled_for=event.scheduled_for.astimezone(UTC),
        verdict=event.verdict,
        attempt=event.attempt,
        reason=event.reason,
        error=event.error,
    )
    return f"id: {moment_text(cursor)}\nevent: run\ndata: {orjson.dumps(to_json(answer)).decode()}\n\n"
