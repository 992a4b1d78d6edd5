"""Calls that are on their way, each of them a task: a few at once, and of each owner only its share.

Whoever doesn't answer holds up nobody but its owner. How a call went is kept until the database has it.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from cronty import telemetry

LOOK_AGAIN: Final = 1.0
"""Seconds until more is claimed while calls are on their way."""


class Sending[T]:
    """`settle` writes down how calls went; those that it raises for are given to it again."""

    def __init__(self, name: str, settle: Callable[[list[T]], Awaitable[None]], most: int, share: int) -> None:
        self._name = name
        self._write = settle
        self._most = most
        self._share = share
        self._owners: dict[asyncio.Task[T], int] = {}
        self._ended: list[asyncio.Task[T]] = []

    @property
    def free(self) -> int:
        return self._most - len(self._owners)

    @property
    def is_empty(self) -> bool:
        return not self._owners

    def busy(self) -> list[int]:
        """Owners with as much on its way as they may have."""
        return [owner for owner, calls in Counter(self._owners.values()).items() if calls >= self._share]

    def start(self, owner_id: int, call: Coroutine[Any, Any, T]) -> None:
        task = asyncio.create_task(call)
        self._owners[task] = owner_id
        task.add_done_callback(self._note_end)

    async def wait(self) -> None:
        """Until all calls have ended, but not long."""
        if self._owners:
            await asyncio.wait(self._owners, timeout=LOOK_AGAIN)
        await self.settle()

    async def settle(self) -> None:
        """Write down how those went that have ended."""
        ended, self._ended = self._ended, []
        if not ended:
            return
        try:
            await self._write([task.result() for task in ended])
        except BaseException:
            self._ended = ended + self._ended
            raise

    async def finish(self, patience: float) -> None:
        """Wait for what is on its way, and write down how it went; another engine takes up the rest."""
        if self._owners:
            await asyncio.wait(self._owners, timeout=patience)
        for task in self._owners:
            task.cancel()
        await self.settle()

    def _note_end(self, task: asyncio.Task[T]) -> None:
        del self._owners[task]
        if task.cancelled():
            return
        if isinstance(error := task.exception(), Exception):  # it is taken again when its lease has passed
            telemetry.step_failed(self._name, error, 1)
        else:
            self._ended.append(task)
