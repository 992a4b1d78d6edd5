"""The two clients: the same operations, one waits and the other is awaited."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import update_wrapper
from typing import Any, Final, Self, cast, overload

import httpx2

from cronty.client import calls
from cronty.client.calls import Call
from cronty.client.error import CrontyError, error_of, unreachable
from cronty.client.shapes import Entry, JobSummary, Run, RunEvent

PLACE: Final = "/api/v1"
AWAY: Final = frozenset({429, 502, 503, 504})
"""Answers after which asking again may help."""


class Operation[**P, T]:
    """An operation as both clients have it: `client.job_status(…)`, `await client.job_status(…)`."""

    def __init__(self, call: Callable[P, Call[T]]) -> None:
        self._call = call

    @overload
    def __get__(self, client: "Client", kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: "AsyncClient", kind: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, kind: type) -> Callable[P, Any]:
        def ask(*args: P.args, **given: P.kwargs) -> Any:
            return client.ask(self._call(*args, **given))

        return update_wrapper(ask, self._call)


class Operations:
    """Everything but pages and events."""

    schedule_job = Operation(calls.schedule_job)
    list_jobs = Operation(calls.list_jobs)
    job_status = Operation(calls.job_status)
    edit_job = Operation(calls.edit_job)
    pause_job = Operation(calls.pause_job)
    resume_job = Operation(calls.resume_job)
    cancel_job = Operation(calls.cancel_job)
    delete_job = Operation(calls.delete_job)
    undelete_job = Operation(calls.undelete_job)
    list_deleted_jobs = Operation(calls.list_deleted_jobs)
    run_job_now = Operation(calls.run_job_now)
    list_runs = Operation(calls.list_runs)
    list_failed_runs = Operation(calls.list_failed_runs)
    show_run = Operation(calls.show_run)
    redrive_runs = Operation(calls.redrive_runs)
    preview_schedule = Operation(calls.preview_schedule)
    get_current_time = Operation(calls.get_current_time)
    list_tasks = Operation(calls.list_tasks)
    read_inbox = Operation(calls.read_inbox)
    acknowledge_inbox = Operation(calls.acknowledge_inbox)
    send_push_notification = Operation(calls.send_push_notification)
    list_channels = Operation(calls.list_channels)
    save_channel = Operation(calls.save_channel)
    remove_channel = Operation(calls.remove_channel)
    try_channel = Operation(calls.try_channel)
    who_am_i = Operation(calls.who_am_i)
    show_limits = Operation(calls.show_limits)
    list_keys = Operation(calls.list_keys)
    add_key = Operation(calls.add_key)
    revoke_key = Operation(calls.revoke_key)
    read_trail = Operation(calls.read_trail)

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, tries: int = 3) -> None:
        """`url` is the server's, such as http://127.0.0.1:8125. What may be repeated is tried `tries` times."""
        self.url = url.rstrip("/")
        self._tries = tries
        self._options: dict[str, Any] = {
            "base_url": self.url + PLACE,
            "headers": {} if key is None else {"Authorization": f"Bearer {key}"},
            "timeout": timeout,
        }

    def _tried_enough(self, call: Call[Any], number: int, answer: httpx2.Response | None) -> bool:
        """Whether to stop here; `answer` None means that none came."""
        hopeless = answer is not None and answer.status_code not in AWAY
        return hopeless or not call.again or number >= self._tries


def _pause(number: int) -> float:
    return 0.2 * 2**number * (0.5 + random.random())


def _request(call: Call[Any]) -> dict[str, Any]:
    return {
        "method": call.method, "url": call.path, "params": dict(call.query), "json": call.body,
        "headers": dict(call.headers),
    }  # fmt: skip


def _read[T](call: Call[T], answer: httpx2.Response) -> T:
    if not answer.is_success:
        raise error_of(answer)
    return cast("T", None if call.answer is None else answer.json())


def _listening(after: str | None) -> dict[str, Any]:
    headers = {"Last-Event-ID": after} if after else {}
    return {"method": "GET", "url": "/events", "headers": headers, "timeout": httpx2.Timeout(30, read=60)}


class Client(Operations):
    """`with Client(url, key) as cronty: cronty.list_jobs()`. Answers are dicts; a refusal is a `CrontyError`."""

    def __enter__(self) -> Self:
        self._http = httpx2.Client(**self._options)
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def ask[T](self, call: Call[T]) -> T:
        number = 0
        while True:
            number += 1
            try:
                answer = self._http.request(**_request(call))
            except httpx2.TransportError as failure:
                if self._tried_enough(call, number, None):
                    raise unreachable(self.url, failure) from failure
            else:
                if answer.is_success or self._tried_enough(call, number, answer):
                    return _read(call, answer)
            time.sleep(_pause(number))

    def jobs(self, status: str | None = None, **wanted: Any) -> Generator[JobSummary]:
        """All jobs that match, however many pages that is."""
        cursor = None
        while True:
            page = self.list_jobs(status, cursor=cursor, **wanted)
            yield from page["jobs"]
            if (cursor := page["cursor"]) is None:
                return

    def runs(self, job_id: str | int, **wanted: Any) -> Generator[Run]:
        """All runs of a job, newest first."""
        before = None
        while True:
            page = self.list_runs(job_id, before=before, **wanted)
            yield from page["runs"]
            if (before := page["cursor"]) is None:
                return

    def trail(self) -> Generator[Entry]:
        """Everything done, the latest first."""
        before = None
        while True:
            page = self.read_trail(before=before)
            yield from page["entries"]
            if (before := page["cursor"]) is None:
                return

    def events(self, after: str | None = None) -> Generator[RunEvent]:
        """What happens to runs, as it happens, until you stop; a lost line is taken up where it was lost."""
        lost = 0
        while True:
            try:
                with self._http.stream(**_listening(after)) as answer:
                    if not answer.is_success:
                        answer.read()
                        raise error_of(answer)
                    after = answer.headers.get("last-event-id", after)
                    for event in httpx2.EventSource(answer):
                        lost, after = 0, event.id or after
                        if event.event == "run":
                            yield cast("RunEvent", event.json())
            except (httpx2.TransportError, CrontyError) as failure:
                lost = _lost(self.url, failure, lost, self._tries)
            time.sleep(_pause(lost))


class AsyncClient(Operations):
    """`async with AsyncClient(url, key) as cronty: await cronty.list_jobs()`."""

    async def __aenter__(self) -> Self:
        self._http = httpx2.AsyncClient(**self._options)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._http.aclose()

    async def ask[T](self, call: Call[T]) -> T:
        number = 0
        while True:
            number += 1
            try:
                answer = await self._http.request(**_request(call))
            except httpx2.TransportError as failure:
                if self._tried_enough(call, number, None):
                    raise unreachable(self.url, failure) from failure
            else:
                if answer.is_success or self._tried_enough(call, number, answer):
                    return _read(call, answer)
            await asyncio.sleep(_pause(number))

    async def jobs(self, status: str | None = None, **wanted: Any) -> AsyncGenerator[JobSummary]:
        """All jobs that match, however many pages that is."""
        cursor = None
        while True:
            page = await self.list_jobs(status, cursor=cursor, **wanted)
            for job in page["jobs"]:
                yield job
            if (cursor := page["cursor"]) is None:
                return

    async def runs(self, job_id: str | int, **wanted: Any) -> AsyncGenerator[Run]:
        """All runs of a job, newest first."""
        before = None
        while True:
            page = await self.list_runs(job_id, before=before, **wanted)
            for run in page["runs"]:
                yield run
            if (before := page["cursor"]) is None:
                return

    async def trail(self) -> AsyncGenerator[Entry]:
        """Everything done, the latest first."""
        before = None
        while True:
            page = await self.read_trail(before=before)
            for entry in page["entries"]:
                yield entry
            if (before := page["cursor"]) is None:
                return

    async def events(self, after: str | None = None) -> AsyncGenerator[RunEvent]:
        """What happens to runs, as it happens, until you stop; a lost line is taken up where it was lost."""
        lost = 0
        while True:
            try:
                async with self._http.stream(**_listening(after)) as answer:
                    if not answer.is_success:
                        await answer.aread()
                        raise error_of(answer)
                    after = answer.headers.get("last-event-id", after)
                    async for event in httpx2.EventSource(answer):
                        lost, after = 0, event.id or after
                        if event.event == "run":
                            yield cast("RunEvent", event.json())
            except (httpx2.TransportError, CrontyError) as failure:
                lost = _lost(self.url, failure, lost, self._tries)
            await asyncio.sleep(_pause(lost))


def _lost(url: str, failure: Exception, before: int, most: int) -> int:
    """How often in a row the line was lost now; raises what can't be mended by trying again."""
    if isinstance(failure, CrontyError) and failure.status not in AWAY:
        raise failure
    if before + 1 >= most:
        raise failure if isinstance(failure, CrontyError) else unreachable(url, failure) from failure
    return before + 1
