"""The streams of changes that are open in this process, on every surface, and who waits for prompts: a bounded number
for each owner.

Streams outlive the request that opened them, so their tokens are checked again: one statement for all of them, every
few seconds. A stream whose token has ended is told nothing more from then on.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from cronty import telemetry
from cronty.contract.caller import Caller, Scope
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.permission import lacks
from cronty.store.database import StoreUnavailable

MAX_LISTENERS: Final = 50
"""Open streams of one owner in one process, of REST, the dashboard and MCP together, and who waits for prompts."""

CHECK_EVERY: Final = 2.0
"""Seconds between two checks of the tokens of all open streams."""

type FindEnded = Callable[[Sequence[int]], Awaitable[set[int]]]
"""Which of these keys are no longer good."""


class Place:
    """One open stream. Leave it when the stream ends."""

    def __init__(self, listeners: "Listeners", caller: Caller) -> None:
        self._listeners = listeners
        self.caller = caller
        self.ended = False
        self.when_ended: Callable[[], None] = lambda: None

    def end(self) -> None:
        """Its token is no longer good."""
        self.ended = True
        self.when_ended()

    def leave(self) -> None:
        self._listeners.leave(self)


class Listeners:
    def __init__(self, find_ended: FindEnded) -> None:
        self._find_ended = find_ended
        self._places: set[Place] = set()
        self._of: Counter[str] = Counter()
        self._checking: asyncio.Task[None] | None = None

    def take(self, caller: Caller, scope: Scope = "read") -> Result[Place]:
        """A place for one more stream. Nothing is awaited, so that two requests can't take the same place."""
        if wrong := lacks(caller, scope, "Listening"):
            return wrong
        if self._of[caller.owner] >= MAX_LISTENERS:
            message = f"{MAX_LISTENERS} connections listen for this owner already; more aren't allowed."
            return Err("too_many_listeners", message, "Close one, or share it.")
        place = Place(self, caller)
        self._places.add(place)
        self._of[caller.owner] += 1
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._keep_checking(), name="cronty listeners")
        return Ok(place)

    def leave(self, place: Place) -> None:
        if place in self._places:
            self._places.discard(place)
            self._of[place.caller.owner] -= 1
            self._of += Counter()  # drops owners that have none

    @contextmanager
    def listening(self, caller: Caller, scope: Scope = "read") -> Generator[Result[Place]]:
        """The same, for as long as the block lasts."""
        taken = self.take(caller, scope)
        try:
            yield taken
        finally:
            if isinstance(taken, Ok):
                taken.value.leave()

    async def step(self) -> None:
        """Check all tokens once."""
        keys = {place.caller.key_id for place in self._places if place.caller.key_id is not None and not place.ended}
        ended = await self._find_ended(sorted(keys)) if keys else set[int]()
        now = datetime.now(UTC)
        for place in list(self._places):
            caller = place.caller
            # The database knows of keys; a token that isn't one has its end written in it.
            past = caller.key_id is None and caller.expires_at is not None and caller.expires_at <= now
            if (past or caller.key_id in ended) and not place.ended:
                place.end()

    async def _keep_checking(self) -> None:
        failures = 0
        while self._places:
            await asyncio.sleep(CHECK_EVERY)
            try:
                await self.step()
                failures = 0
            except StoreUnavailable:
                pass  # without it there is nothing to tell either
            except Exception as error:
                failures += 1
                telemetry.step_failed("listeners", error, failures)
