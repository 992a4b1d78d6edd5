"""What both clients share: where the server is, and how calls and their answers travel over HTTP."""

import random
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, cast
from uuid import uuid4

import httpx2

from cronty import tracing
from cronty.client.local_key import local_auth
from cronty.contract.answers_of_owner import RunEvent
from cronty.contract.http import PREFIX, call_of
from cronty.contract.local_key import without_names
from cronty.contract.operation import Operation
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Choice, CrontyError, Err

AWAY: Final = frozenset({429, 502, 503, 504})
"""Statuses after which a retry may help."""


class Connection:
    """Where the server is, and how often to try."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, tries: int = 3) -> None:
        """`url` is the server's, such as http://127.0.0.1:8125. A call that may be repeated is tried `tries` times.

        Without a `key`, a server that this user runs on this machine is still called as its owner.
        """
        self.url = url.rstrip("/")
        self._tries = tries
        auth = local_auth(url) if key is None else None
        self._options: dict[str, Any] = {
            "base_url": (self.url if auth is None else without_names(self.url)) + PREFIX,
            "headers": {} if key is None else {"Authorization": f"Bearer {key}"},
            "auth": auth,
            "timeout": timeout,
        }

    def _is_last(self, operation: Operation[..., Any, Any], number: int, response: httpx2.Response | None) -> bool:
        """Whether to stop after this try; `response` None means that none came."""
        final = response is not None and response.status_code not in AWAY
        return final or not operation.retry or number >= self._tries


def to_http[R](operation: Operation[..., R, Any], request: R) -> dict[str, Any]:
    """A request as httpx2 takes it."""
    if isinstance(request, ScheduleJob) and request.idempotency_key is None:
        # So that a retry after a lost answer doesn't make a second job.
        request = replace(request, idempotency_key=str(uuid4()))
    call = call_of(operation, request)
    return {
        "method": call.method, "url": call.path, "params": dict(call.query), "json": call.body,
        "headers": {**tracing.headers(), **call.headers},
    }  # fmt: skip


def read_answer[A](operation: Operation[..., Any, A], response: httpx2.Response) -> A:
    if not response.is_success:
        raise error_of(response)
    if not response.content:
        return cast("A", None)
    return operation.answers.validate_json(response.content)


def error_of(response: httpx2.Response) -> CrontyError:
    """The error in problem details; any other answer, such as a proxy's, becomes an error with its status."""
    try:
        found: Any = response.json()
    except ValueError:
        found = None
    details = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    message = str(details.get("detail") or f"{response.url} answered {response.status_code}.")
    code = str(details.get("code") or f"http_{response.status_code}")
    choices = tuple(_choice(each) for each in cast("list[dict[str, str | None]]", details.get("choices") or []))
    return CrontyError(Err(code, message, str(details.get("hint") or ""), details.get("field"), choices))


def _choice(given: dict[str, str | None]) -> Choice:
    next_at = given.get("next_at")
    moment = None if next_at is None else datetime.fromisoformat(next_at)
    return Choice(given.get("words") or "", given.get("description") or "", moment)


def unreachable(url: str, failure: Exception) -> CrontyError:
    late = isinstance(failure, httpx2.TimeoutException)
    reason = "no answer in time" if late else str(failure) or "the connection broke off"
    return CrontyError(Err("unreachable", f"{url} can't be reached: {reason}.", "Is `cronty serve` running there?"))


class StreamRefused(Exception):
    """Listening was refused, with this status."""

    def __init__(self, error: CrontyError, status: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.status = status


def pause(number: int) -> float:
    return 0.2 * 2**number * (0.5 + random.random())


def event_id_of(after: str | datetime | None) -> str | None:
    return after.isoformat() if isinstance(after, datetime) else after


def listening(place: str | None) -> dict[str, Any]:
    headers = {"Last-Event-ID": place} if place else {}
    return {"method": "GET", "url": "/events", "headers": headers, "timeout": httpx2.Timeout(30, read=60)}


def event_of(data: object) -> RunEvent:
    fields = cast("dict[str, Any]", data)
    moments: dict[str, Any] = {name: datetime.fromisoformat(fields[name]) for name in ("at", "scheduled_for")}
    return RunEvent(**{**fields, **moments})


def lost_again(url: str, failure: Exception, before: int, most: int) -> int:
    """How often in a row the connection was lost; raises an error that a retry can't fix."""
    refused = failure.error if isinstance(failure, StreamRefused) else None
    if isinstance(failure, StreamRefused) and failure.status not in AWAY:
        raise failure.error from None
    if before + 1 >= most:
        raise refused or unreachable(url, failure) from failure
    return before + 1
