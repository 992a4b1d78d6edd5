"""Calls that are on their way, each of them a task: a few at once, and of each owner and each server only its share.

Whoever doesn't answer holds up nobody but itself. How a call went is kept until the database has it, or has refused it.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from cronty import telemetry
from cronty.store.database import StoreUnavailable

LOOK_AGAIN: Final = 1.0
"""Seconds until more is claimed while calls are on their way."""


class Sending[T]:
    """`settle` writes down how calls went. While the database can't be used, it is given them again."""

    def __init__(self, name: str, settle: Callable[[list[T]], Awaitable[None]], most: int, share: int) -> None:
        self._name = name
        self._write = settle
        self._most = most
        self._share = share
        self._calls: dict[asyncio.Task[T], tuple[int, str]] = {}
        """Whose they are, and where they go."""
        self._ended: list[asyncio.Task[T]] = []

    @property
    def free(self) -> int:
        return self._most - len(self._calls)

    @property
    def is_empty(self) -> bool:
        return not self._calls

    def busy(self) -> list[int]:
        """Owners with as much on its way as they may have."""
        return [owner for owner, calls in self._count(0).items() if calls >= self._share]

    def full(self) -> set[str]:
        """Servers with half of all that may be on its way: the other half is for the others."""
        return {server for server, calls in self._count(1).items() if server and calls >= self._most // 2}

    def start(self, owner_id: int, call: Coroutine[Any, Any, T], server: str = "") -> None:
        """`server` is "" for what calls nobody, or where servers have no share."""
        task = asyncio.create_task(call)
        self._calls[task] = owner_id, server
        task.add_done_callback(self._note_end)

    def _count(self, place: int) -> Counter[Any]:
        return Counter(one[place] for one in self._calls.values())

    async def wait(self) -> None:
        """Until all calls have ended, but not long."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=LOOK_AGAIN)
        await self.settle()

    async def settle(self) -> None:
        """Write down how those went that have ended: together, or if the database refuses that, one by one."""
        ended, self._ended = self._ended, []
        batches = [ended] if ended else []
        while batches:
            batch = batches[0]
            try:
                await self._write([task.result() for task in batch])
            except BaseException as error:
                if isinstance(error, StoreUnavailable) or not isinstance(error, Exception):
                    self._ended = [task for left in batches for task in left] + self._ended
                    raise
                if len(batch) > 1:
                    batches = [[task] for task in batch]
                    continue
                telemetry.step_failed(self._name, error, 1)  # it is taken again when its lease has passed
            batches = batches[1:]

    async def finish(self, patience: float) -> None:
        """Wait for what is on its way, and write down how it went; another engine takes up the rest."""
        try:
            if self._calls:
                await asyncio.wait(self._calls, timeout=patience)
        finally:
            for task in self._calls:
                task.cancel()
            await self.settle()

    def _note_end(self, task: asyncio.Task[T]) -> None:
        del self._calls[task]
        if task.cancelled():
            return
        if isinstance(error := task.exception(), Exception):  # it is taken again when its lease has passed
            telemetry.step_failed(self._name, error, 1)
        else:
            self._ended.append(task)
