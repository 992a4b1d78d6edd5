"""Polls the inbox for all waiting readers of a process, in one query."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from contextlib import contextmanager

from cronty import telemetry
from cronty.store.database import StoreUnavailable

type Ask = Callable[[Sequence[str]], Awaitable[Collection[str]]]
"""Which of these owners have a recent prompt to read."""


class InboxPoll:
    """Polls every `every` seconds while a reader waits."""

    def __init__(self, ask: Ask, every: float) -> None:
        self._ask = ask
        self._every = every
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._polling: asyncio.Task[None] | None = None

    @contextmanager
    def waiting(self, owner: str) -> Generator[asyncio.Event]:
        """An event that is set by each poll that finds a prompt for the owner."""
        bell = asyncio.Event()
        self._waiting.setdefault(owner, set()).add(bell)
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._keep_polling(), name="cronty inbox poll")
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

    async def _keep_polling(self) -> None:
        failures = 0
        while self._waiting:
            try:
                await self.step()
                failures = 0
            except StoreUnavailable:
                pass  # the database logs its outage itself
            except Exception as error:
                failures += 1
                telemetry.step_failed("inbox poll", error, failures)
            await asyncio.sleep(self._every)
