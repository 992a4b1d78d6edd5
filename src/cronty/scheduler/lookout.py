"""One look for everybody who waits: a process asks once which owners there is something for."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from contextlib import contextmanager

from cronty import telemetry
from cronty.store.database import StoreUnavailable

type Ask = Callable[[Sequence[str]], Awaitable[Collection[str]]]
"""For which of these owners there is something."""


class Lookout:
    """Asks every so many seconds, and nothing while nobody waits."""

    def __init__(self, ask: Ask, every: float) -> None:
        self._ask = ask
        self._every = every
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def waiting(self, owner: str) -> Generator[asyncio.Event]:
        """What is set when there is something for the owner, again and again as long as there is."""
        bell = asyncio.Event()
        self._waiting.setdefault(owner, set()).add(bell)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._keep_looking(), name="cronty lookout")
        try:
            yield bell
        finally:
            bells = self._waiting[owner]
            bells.discard(bell)
            if not bells:
                del self._waiting[owner]

    async def step(self) -> None:
        for owner in await self._ask(list(self._waiting)):
            for bell in self._waiting.get(owner, ()):
                bell.set()

    async def _keep_looking(self) -> None:
        failures = 0
        while self._waiting:
            try:
                await self.step()
                failures = 0
            except StoreUnavailable:
                pass  # the database tells of its outage itself
            except Exception as error:
                failures += 1
                telemetry.step_failed("look for those who wait", error, failures)
            await asyncio.sleep(self._every)
