"""Change notices: a client that watches `job://…` or `schedules://…` is told when it changes, in any process.

The engine pushes nothing, so that firing stays fast: each watched resource is polled once a second, and nothing is
polled while no client watches.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from cronty import telemetry
from cronty.contract.caller import local_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.resources import read_job, read_topic

POLL_EVERY: Final = 1.0

type Listener = Callable[[ServerEvent], None]


class Watch:
    """A subscription bus that keeps owners apart: a notice goes only to listeners of the same owner."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._listeners: dict[object, tuple[str, Listener]] = {}
        self._watched: Counter[tuple[str, str]] = Counter()
        self._seen: dict[tuple[str, str], int] = {}
        self._polling: asyncio.Task[None] | None = None

    async def publish(self, event: ServerEvent) -> None:
        self._notify(self._context.who().owner, event)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        token = object()
        self._listeners[token] = (self._context.who().owner, listener)

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: Callable[..., Awaitable[Any]]) -> Any:
        """Poll the resources that a client watches, for as long as it listens."""
        if ctx.method != "subscriptions/listen":
            return await call_next(ctx)
        await self._context.ready()
        owner = self._context.who().owner
        uris = {(owner, uri) for uri in _uris(ctx.params or {})}
        self._watched.update(uris)
        try:
            for key in uris - self._seen.keys():
                self._seen.setdefault(key, hash(await self._read(*key)))
            if self._polling is None or self._polling.done():
                self._polling = asyncio.create_task(self._keep_polling())
            return await call_next(ctx)
        finally:
            self._watched.subtract(uris)
            self._watched += Counter()  # drops resources that no client watches any more
            for key in uris - self._watched.keys():
                self._seen.pop(key, None)

    def _notify(self, owner: str, event: ServerEvent) -> None:
        for listening, listener in list(self._listeners.values()):
            if listening == owner:
                listener(event)

    async def _keep_polling(self) -> None:
        failures = 0
        while self._watched:
            await asyncio.sleep(POLL_EVERY)
            failed: Exception | None = None
            for key in list(self._watched):
                try:
                    await self._compare(*key)
                except Exception as error:  # of one resource; the others are still polled
                    failed = error
            failures = failures + 1 if failed else 0
            if failed:
                telemetry.step_failed("watched resources", failed, failures)

    async def _compare(self, owner: str, uri: str) -> None:
        now, key = await self._read(owner, uri), (owner, uri)
        if now and key in self._watched and hash(now) != self._seen.setdefault(key, hash(now)):
            self._seen[key] = hash(now)
            self._notify(owner, ResourceUpdated(uri=uri))

    async def _read(self, owner: str, uri: str) -> str:
        """The resource as its owner would read it; empty while it can't be read."""
        context = ToolContext(self._context.backend, lambda: local_caller(owner))
        kind, _, name = uri.partition("://")
        with suppress(ResourceError):
            if kind == "job":
                return await read_job(context, name)
            if kind == "schedules":
                return await read_topic(context, name)
        return "" if kind != "job" else "gone"


def _uris(params: Mapping[str, Any]) -> list[str]:
    notifications = cast("Mapping[str, Any]", params.get("notifications") or {})
    found = cast("list[object]", notifications.get("resourceSubscriptions") or [])
    return [str(uri) for uri in found][:100]
