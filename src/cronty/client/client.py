"""The two clients, sync and async: every operation over HTTP."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Self, cast
from uuid import uuid4

import httpx2

from cronty.client.local_key import local_auth
from cronty.contract.answers import JobSummary, Run
from cronty.contract.answers_of_owner import RunEvent, TrailEntry
from cronty.contract.http import PREFIX, call_of
from cronty.contract.operation import AsyncApi, Operation, SyncApi
from cronty.contract.operations import Operations
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Choice, CrontyError, Err

AWAY: Final = frozenset({429, 502, 503, 504})
"""Statuses after which a retry may help."""


class _Connection:
    """What both clients share: where the server is, and how often to try."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, tries: int = 3) -> None:
        """`url` is the server's, such as http://127.0.0.1:8125. A call that may be repeated is tried `tries` times.

        Without a `key`, a server that this user runs on this machine is still called as its owner.
        """
        self.url = url.rstrip("/")
        self._tries = tries
        self._options: dict[str, Any] = {
            "base_url": self.url + PREFIX,
            "headers": {} if key is None else {"Authorization": f"Bearer {key}"},
            "auth": local_auth(url) if key is None else None,
            "timeout": timeout,
        }

    def _is_last(self, operation: Operation[..., Any, Any], number: int, response: httpx2.Response | None) -> bool:
        """Whether to stop after this try; `response` None means that none came."""
        final = response is not None and response.status_code not in AWAY
        return final or not operation.retry or number >= self._tries


class Client(Operations, SyncApi, _Connection):
    """`with Client(url, key) as cronty: cronty.list_jobs()`. A refusal is raised as `CrontyError`."""

    def __enter__(self) -> Self:
        self._http = httpx2.Client(**self._options)
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def ask[R, A](self, operation: Operation[..., R, A], request: R, /) -> A:
        given, number = _given(operation, request), 0
        while True:
            number += 1
            try:
                response = self._http.request(**given)
            except httpx2.TransportError as failure:
                if self._is_last(operation, number, None):
                    raise unreachable(self.url, failure) from failure
            else:
                if response.is_success or self._is_last(operation, number, response):
                    return _read(operation, response)
            time.sleep(_pause(number))

    def jobs(self, status: str | None = None, **wanted: Any) -> Generator[JobSummary]:
        """All jobs that match, over all pages."""
        cursor = None
        while True:
            page = self.list_jobs(status, cursor=cursor, **wanted)
            yield from page.jobs
            if (cursor := page.cursor) is None:
                return

    def runs(self, job_id: str, **wanted: Any) -> Generator[Run]:
        """All runs of a job, newest first."""
        before = None
        while True:
            page = self.list_runs(job_id, before=before, **wanted)
            yield from page.runs
            if (before := page.cursor) is None:
                return

    def trail(self) -> Generator[TrailEntry]:
        """All entries of the audit trail, the latest first."""
        before = None
        while True:
            page = self.read_trail(before=before)
            yield from page.entries
            if (before := page.cursor) is None:
                return

    def events(self, after: str | datetime | None = None) -> Generator[RunEvent]:
        """Run events as they happen, until you stop; after a lost connection it continues where it was."""
        place, lost = _place(after), 0
        while True:
            try:
                with self._http.stream(**_listening(place)) as response:
                    if not response.is_success:
                        response.read()
                        raise _Refused(error_of(response), response.status_code)
                    place = response.headers.get("last-event-id", place)
                    for event in httpx2.EventSource(response):
                        lost, place = 0, event.id or place
                        if event.event == "run":
                            yield _event(event.json())
            except (httpx2.TransportError, _Refused) as failure:
                lost = _lost(self.url, failure, lost, self._tries)
            time.sleep(_pause(lost))


class AsyncClient(Operations, AsyncApi, _Connection):
    """`async with AsyncClient(url, key) as cronty: await cronty.list_jobs()`."""

    async def __aenter__(self) -> Self:
        self._http = httpx2.AsyncClient(**self._options)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._http.aclose()

    async def ask[R, A](self, operation: Operation[..., R, A], request: R, /) -> A:
        given, number = _given(operation, request), 0
        while True:
            number += 1
            try:
                response = await self._http.request(**given)
            except httpx2.TransportError as failure:
                if self._is_last(operation, number, None):
                    raise unreachable(self.url, failure) from failure
            else:
                if response.is_success or self._is_last(operation, number, response):
                    return _read(operation, response)
            await asyncio.sleep(_pause(number))

    async def jobs(self, status: str | None = None, **wanted: Any) -> AsyncGenerator[JobSummary]:
        """All jobs that match, over all pages."""
        cursor = None
        while True:
            page = await self.list_jobs(status, cursor=cursor, **wanted)
            for job in page.jobs:
                yield job
            if (cursor := page.cursor) is None:
                return

    async def runs(self, job_id: str, **wanted: Any) -> AsyncGenerator[Run]:
        """All runs of a job, newest first."""
        before = None
        while True:
            page = await self.list_runs(job_id, before=before, **wanted)
            for run in page.runs:
                yield run
            if (before := page.cursor) is None:
                return

    async def trail(self) -> AsyncGenerator[TrailEntry]:
        """All entries of the audit trail, the latest first."""
        before = None
        while True:
            page = await self.read_trail(before=before)
            for entry in page.entries:
                yield entry
            if (before := page.cursor) is None:
                return

    async def events(self, after: str | datetime | None = None) -> AsyncGenerator[RunEvent]:
        """Run events as they happen, until you stop; after a lost connection it continues where it was."""
        place, lost = _place(after), 0
        while True:
            try:
                async with self._http.stream(**_listening(place)) as response:
                    if not response.is_success:
                        await response.aread()
                        raise _Refused(error_of(response), response.status_code)
                    place = response.headers.get("last-event-id", place)
                    async for event in httpx2.EventSource(response):
                        lost, place = 0, event.id or place
                        if event.event == "run":
                            yield _event(event.json())
            except (httpx2.TransportError, _Refused) as failure:
                lost = _lost(self.url, failure, lost, self._tries)
            await asyncio.sleep(_pause(lost))


def _given[R](operation: Operation[..., R, Any], request: R) -> dict[str, Any]:
    """A request as httpx2 takes it."""
    if isinstance(request, ScheduleJob) and request.idempotency_key is None:
        # So that a retry after a lost answer doesn't make a second job.
        request = replace(request, idempotency_key=str(uuid4()))
    call = call_of(operation, request)
    return {
        "method": call.method, "url": call.path, "params": dict(call.query), "json": call.body,
        "headers": dict(call.headers),
    }  # fmt: skip


def _read[A](operation: Operation[..., Any, A], response: httpx2.Response) -> A:
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
    reason = str(failure) or type(failure).__name__
    return CrontyError(Err("unreachable", f"{url} can't be reached: {reason}.", "Is `cronty serve` running there?"))


class _Refused(Exception):
    """Listening was refused, with this status."""

    def __init__(self, error: CrontyError, status: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.status = status


def _pause(number: int) -> float:
    return 0.2 * 2**number * (0.5 + random.random())


def _place(after: str | datetime | None) -> str | None:
    return after.isoformat() if isinstance(after, datetime) else after


def _listening(place: str | None) -> dict[str, Any]:
    headers = {"Last-Event-ID": place} if place else {}
    return {"method": "GET", "url": "/events", "headers": headers, "timeout": httpx2.Timeout(30, read=60)}


def _event(data: object) -> RunEvent:
    fields = cast("dict[str, Any]", data)
    moments: dict[str, Any] = {name: datetime.fromisoformat(fields[name]) for name in ("at", "scheduled_for")}
    return RunEvent(**{**fields, **moments})


def _lost(url: str, failure: Exception, before: int, most: int) -> int:
    """How often in a row the connection was lost; raises an error that a retry can't fix."""
    refused = failure.error if isinstance(failure, _Refused) else None
    if isinstance(failure, _Refused) and failure.status not in AWAY:
        raise failure.error from None
    if before + 1 >= most:
        raise refused or unreachable(url, failure) from failure
    return before + 1
