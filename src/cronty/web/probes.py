"""A small HTTP server of a worker, for probes and Prometheus: `/health`, `/ready` and `/metrics`, and nothing else.

It needs no extra, and has no keys: it listens where only those can reach it who may know the installation's figures.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

type Said = Callable[[], Awaitable[str | None]]
"""Why a process can't do its work now, or that nothing fires because the operator wants it so; None if neither."""

MAX_HEAD: Final = 16 * 1024
MAX_CONNECTIONS: Final = 20
PATIENCE: Final = 5.0
"""Seconds that a caller has to ask its question."""

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

type Answer = tuple[HTTPStatus, str, str]
"""A status, a content type and a body."""


class Probes:
    def __init__(self, not_ready: Said, frozen: Said, metrics: Callable[[], Awaitable[str]]) -> None:
        self._not_ready = not_ready
        self._frozen = frozen
        self._metrics = metrics
        self._connections = 0

    async def listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._connected, host, port, limit=MAX_HEAD)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                if self._connections <= MAX_CONNECTIONS:
                    async with asyncio.timeout(PATIENCE):
                        head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_response(head, await self.answer(head)))
                    async with asyncio.timeout(PATIENCE):
                        await writer.drain()
        finally:
            self._connections -= 1
            writer.close()

    async def answer(self, head: bytes) -> Answer:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", "Only GET and HEAD.\n"
        match path:
            case b"/health":
                return _json(HTTPStatus.OK, {"status": "alive"})
            case b"/ready":
                return _json(*readiness(await self._not_ready(), await self._frozen()))
            case b"/metrics":
                return HTTPStatus.OK, METRICS_TYPE, await self._metrics()
            case _:
                return HTTPStatus.NOT_FOUND, "text/plain", "There are /health, /ready and /metrics.\n"


def readiness(reason: str | None, frozen: str | None) -> tuple[int, dict[str, str]]:
    """The status and the answer of `/ready`. What is frozen is as it should be, but is told."""
    if reason is not None:
        return 503, {"status": "not ready", "reason": reason}
    return 200, {"status": "ready"} if frozen is None else {"status": "ready", "frozen": frozen}


def _json(status: int, said: dict[str, str]) -> Answer:
    return HTTPStatus(status), "application/json", json.dumps(said)


def _response(head: bytes, answer: Answer) -> bytes:
    status, kind, body = answer[0], answer[1], answer[2].encode()
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"content-type: {kind}",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if head.startswith(b"HEAD") else body)
