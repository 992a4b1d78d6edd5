"""Change notices: a client that watches `job://…` or `schedules://…` is told when it changes, in any process.

The engine pushes nothing, so that firing stays fast: each watched resource is polled once a second, and nothing is
polled while no client watches. Each owner's resources are polled apart, so that one who watches many keeps no other
waiting.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.subscriptions import ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_REQUEST

from cronty import telemetry
from cronty.contract.caller import local_caller
from cronty.contract.result import Err
from cronty.mcp.answers import sentence
from cronty.mcp.context import ToolContext
from cronty.mcp.resources import read_job, read_topic
from cronty.scheduler.listeners import Place

POLL_EVERY: Final = 1.0
MAX_WATCHED: Final = 100
"""Resources that one owner watches in one process, over all of its clients."""

type Listener = Callable[[ServerEvent], None]


class Watched:
    """The resources that one owner's clients watch, and what they were like at the last look."""

    def __init__(self) -> None:
        self.uris: Counter[str] = Counter()
        self.seen: dict[str, int] = {}
        self.polling: asyncio.Task[None] | None = None


class Watch:
    """A subscription bus that keeps owners apart: a notice goes only to listeners of the same owner."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._listeners: dict[object, tuple[str, Listener]] = {}
        self.watched: dict[str, Watched] = {}

    async def publish(self, event: ServerEvent) -> None:
        self._notify(self._context.who().owner, event)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        token = object()
        self._listeners[token] = (self._context.who().owner, listener)

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: Callable[..., Awaitable[Any]]) -> Any:
        """Poll the resources that a client watches, for as long as it listens and its token is good."""
        if ctx.method != "subscriptions/listen":
            return await call_next(ctx)
        await self._context.ready()
        caller = self._context.caller()
        with self._context.service.listeners.listening(caller) as taken:
            if isinstance(taken, Err):
                raise MCPError(INVALID_REQUEST, sentence(taken))
            with self._watching(caller.owner, _uris(ctx.params or {})) as theirs:
                await self._look_first(caller.owner, theirs)
                return await _while_good(taken.value, call_next(ctx))

    @contextmanager
    def _watching(self, owner: str, uris: set[str]) -> Generator[Watched]:
        theirs = self.watched.get(owner) or Watched()
        if len(theirs.uris.keys() | uris) > MAX_WATCHED:
            message = f"An owner watches at most {MAX_WATCHED} resources; this would make it more."
            raise MCPError(INVALID_REQUEST, f"{message} Watch fewer, or schedules://… for all of a topic.")
        self.watched[owner] = theirs
        theirs.uris.update(uris)
        if theirs.polling is None or theirs.polling.done():
            theirs.polling = asyncio.create_task(self._keep_polling(owner, theirs), name="cronty watch")
        try:
            yield theirs
        finally:
            theirs.uris.subtract(uris)
            theirs.uris += Counter()  # drops resources that no client watches any more
            for uri in uris - theirs.uris.keys():
                theirs.seen.pop(uri, None)
            if not theirs.uris and self.watched.get(owner) is theirs:
                del self.watched[owner]

    async def _look_first(self, owner: str, theirs: Watched) -> None:
        """Know what a resource is like before its client is told that it is watched."""
        for uri in [one for one in theirs.uris if one not in theirs.seen]:
            found = hash(await self._read(owner, uri))
            if uri in theirs.uris:
                theirs.seen.setdefault(uri, found)

    def _notify(self, owner: str, event: ServerEvent) -> None:
        for listening, listener in list(self._listeners.values()):
            if listening == owner:
                listener(event)

    async def _keep_polling(self, owner: str, theirs: Watched) -> None:
        failures = 0
        while theirs.uris:
            await asyncio.sleep(POLL_EVERY)
            failed: Exception | None = None
            for uri in list(theirs.uris):
                try:
                    await self._compare(owner, theirs, uri)
                except Exception as error:  # of one resource; the others are still polled
                    failed = error
            failures = failures + 1 if failed else 0
            if failed:
                telemetry.step_failed("watched resources", failed, failures)

    async def _compare(self, owner: str, theirs: Watched, uri: str) -> None:
        now = await self._read(owner, uri)
        if now and uri in theirs.uris and hash(now) != theirs.seen.setdefault(uri, hash(now)):
            theirs.seen[uri] = hash(now)
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


async def _while_good(place: Place, listening: Awaitable[Any]) -> Any:
    """Listen until the client leaves or its token ends."""
    try:
        async with asyncio.timeout(None) as until:
            place.when_ended = lambda: until.reschedule(asyncio.get_running_loop().time())
            return await listening
    except TimeoutError:
        raise MCPError(INVALID_REQUEST, "The token isn't valid any more.") from None


def _uris(params: Mapping[str, Any]) -> set[str]:
    notifications = cast("Mapping[str, Any]", params.get("notifications") or {})
    found = cast("list[object]", notifications.get("resourceSubscriptions") or [])
    return {str(uri) for uri in found}
