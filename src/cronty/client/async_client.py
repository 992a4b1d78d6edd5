"""The client for async programs: every operation over HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Any, Self

import httpx2

from cronty.client.calls import (
    Connection,
    StreamRefused,
    error_of,
    event_id_of,
    event_of,
    listening,
    lost_again,
    pause,
    read_answer,
    to_http,
    unreachable,
)
from cronty.contract.answers import JobSummary, Run
from cronty.contract.answers_of_owner import RunEvent, TrailEntry
from cronty.contract.operation import AsyncApi, Operation
from cronty.contract.operations import Operations


class AsyncClient(Operations, AsyncApi, Connection):
    """`async with AsyncClient(url, key) as cronty: await cronty.list_jobs()`."""

    async def __aenter__(self) -> Self:
        self._http = httpx2.AsyncClient(**self._options)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._http.aclose()

    async def ask[R, A](self, operation: Operation[..., R, A], request: R, /) -> A:
        given, number = to_http(operation, request), 0
        while True:
            number += 1
            try:
                response = await self._http.request(**given)
            except httpx2.TransportError as failure:
                if self._is_last(operation, number, None):
                    raise unreachable(self.url, failure) from failure
            else:
                if response.is_success or self._is_last(operation, number, response):
                    return read_answer(operation, response)
            await asyncio.sleep(pause(number))

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
        place, lost = event_id_of(after), 0
        while True:
            try:
                async with self._http.stream(**listening(place)) as response:
                    if not response.is_success:
                        await response.aread()
                        raise StreamRefused(error_of(response), response.status_code)
                    place = response.headers.get("last-event-id", place)
                    async for event in httpx2.EventSource(response):
                        lost, place = 0, event.id or place
                        if event.event == "run":
                            yield event_of(event.json())
            except (httpx2.TransportError, StreamRefused) as failure:
                lost = lost_again(self.url, failure, lost, self._tries)
            await asyncio.sleep(pause(lost))
