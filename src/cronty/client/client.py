"""The client for plain programs: every operation over HTTP."""

import time
from collections.abc import Generator
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
from cronty.contract.operation import Operation, SyncApi
from cronty.contract.operations import Operations


class Client(Operations, SyncApi, Connection):
    """`with Client(url, key) as cronty: cronty.list_jobs()`. A refusal is raised as `CrontyError`."""

    def __enter__(self) -> Self:
        self._http = httpx2.Client(**self._options)
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def ask[R, A](self, operation: Operation[..., R, A], request: R, /) -> A:
        given, number = to_http(operation, request), 0
        while True:
            number += 1
            try:
                response = self._http.request(**given)
            except httpx2.TransportError as failure:
                if self._is_last(operation, number, None):
                    raise unreachable(self.url, failure) from failure
            else:
                if response.is_success or self._is_last(operation, number, response):
                    return read_answer(operation, response)
            time.sleep(pause(number))

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
        place, lost = event_id_of(after), 0
        while True:
            try:
                with self._http.stream(**listening(place)) as response:
                    if not response.is_success:
                        response.read()
                        raise StreamRefused(error_of(response), response.status_code)
                    place = response.headers.get("last-event-id", place)
                    for event in httpx2.EventSource(response):
                        lost, place = 0, event.id or place
                        if event.event == "run":
                            yield event_of(event.json())
            except (httpx2.TransportError, StreamRefused) as failure:
                lost = lost_again(self.url, failure, lost, self._tries)
            time.sleep(pause(lost))
