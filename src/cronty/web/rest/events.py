"""Run events as server-sent events; a client that loses the connection can continue where it was."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from cronty.contract.answers import to_json
from cronty.contract.answers_of_owner import RunEvent as RunEventAnswer
from cronty.contract.caller import Caller
from cronty.contract.result import Err
from cronty.jobs.moments import moment_text
from cronty.jobs.overview import RunEvent
from cronty.scheduler.listeners import Place
from cronty.scheduler.permission import event_as_seen
from cronty.scheduler.service import AWAY, Service, StoreUnavailable
from cronty.timing import BadTrigger
from cronty.timing.reading import read_moment
from cronty.web.problems import problem
from cronty.web.rest.request import caller_of, refused_token
from cronty.web.streams import EventResponse

QUIET_FOR: Final = 15.0
"""Seconds without an event before a keep-alive comment."""

AWAY_FOR: Final = 1.0
"""Seconds before a database that can't be reached is tried again."""


FURTHEST_BACK: Final = timedelta(days=1)
"""Older events must be read with list_runs; streaming them could read all of the history."""


async def listen(request: Request) -> Response:
    caller = await caller_of(request)
    if isinstance(caller, Err):
        return refused_token(caller)
    service: Service = request.app.state.service()
    taken = service.listeners.take(caller.value)
    if isinstance(taken, Err):
        return problem(taken)
    place = taken.value
    try:
        start = await _start(
            service, caller.value, request.headers.get("last-event-id") or request.query_params.get("after")
        )
    except BadTrigger as bad:
        place.leave()
        return problem(Err("bad_cursor", f"Invalid event id: {bad.message}", "Use the id of an event, or none."))
    except StoreUnavailable:
        place.leave()
        return problem(AWAY)
    except BaseException:
        place.leave()
        raise
    headers = {"last-event-id": start.isoformat(), "x-accel-buffering": "no"}
    return EventResponse(_stream(service, place, start), place, headers)


async def _start(service: Service, caller: Caller, after: str | None) -> datetime:
    """Where to start: at most a day back, and not in the future, which would delay the owner's other listeners."""
    given = None if after is None else read_moment(after.strip(), "UTC").astimezone(UTC)
    now, _ = await service.scheduler.clock(caller)
    return now if given is None else min(now, max(now - FURTHEST_BACK, given))


async def _stream(service: Service, place: Place, after: datetime) -> AsyncGenerator[str]:
    """Events until the client leaves or its token is no longer good."""
    yield f"id: {after.isoformat()}\nretry: 2000\n: listening\n\n"
    async with service.overview.listen(place.caller, after) as listener:
        place.when_ended = listener.wake
        while not place.ended:
            try:
                found = await listener.wait(QUIET_FOR)
            except StoreUnavailable:
                yield ": the database can't be reached right now\n\n"
                await asyncio.sleep(AWAY_FOR)
                continue
            if place.ended:
                return
            for event in found:
                after = max(after, event.at)
                yield frame(event_as_seen(place.caller, event), after)
            if not found:
                yield ": nothing new\n\n"


def frame(event: RunEvent, cursor: datetime) -> str:
    answer = RunEventAnswer(
        at=event.at.astimezone(UTC),
        run_id=event.run_id,
        job_id=event.job_id,
        name=event.name,
        scheduled_for=event.scheduled_for.astimezone(UTC),
        verdict=event.verdict,
        attempt=event.attempt,
        reason=event.reason,
        error=event.error,
    )
    return f"id: {moment_text(cursor)}\nevent: run\ndata: {orjson.dumps(to_json(answer)).decode()}\n\n"
