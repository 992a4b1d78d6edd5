"""Bounds what connections can take from the server, so that the jobs and other callers go on.

uvicorn accepts any number of connections and waits for requests without end. Here their number is limited, and a
request must arrive whole within some seconds. When there is no room for another connection, the one that has gone
longest without a complete request makes room: whoever sends a request is served, however many connect and send none.
"""

import asyncio
import resource
from collections.abc import Callable
from typing import Any, Final, cast, override

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

ARRIVES_WITHIN: Final = 20.0
"""Seconds from the first byte of a request, or from connecting, to the last byte of its body."""

KEPT_ALIVE: Final = 5
"""Seconds that a connection may be idle between two requests."""

MOST: Final = 1000


def most_connections() -> int:
    """Half of the files that the process may open; the rest is for the database, the jobs and their calls."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(8, min(MOST, soft // 2))


def bounded_protocol(most: int, arrives_within: float = ARRIVES_WITHIN) -> type[asyncio.Protocol]:
    """The HTTP protocol for one server; it counts the server's connections."""
    idle: dict[asyncio.Protocol, Callable[[], None]] = {}
    """How to cut each connection that has no complete request to answer; the oldest first."""
    busy: set[asyncio.Protocol] = set()

    class Bounded(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        @override
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._note()
            while len(idle) + len(busy) > most:
                idle[next(iter(idle))]()

        @override
        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        @override
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._note()

        @override
        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._note()

        def _cut(self) -> None:
            self._forget()
            self.transport.abort()

        def _note(self) -> None:
            cycle = cast("RequestResponseCycle | None", self.cycle)
            if cycle is not None and not cycle.more_body and not cycle.response_complete:
                self._forget()
                busy.add(self)
                return
            busy.discard(self)
            idle.setdefault(self, self._cut)
            if self._timer is None:
                self._timer = self.loop.call_later(arrives_within, self._cut)

        def _forget(self) -> None:
            idle.pop(self, None)
            busy.discard(self)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Bounded
