"""Threads for calls that can't be interrupted, shared so that one owner's slow calls hold up nobody else's."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

THREADS: Final = 128
EACH: Final = 4
"""How many threads one owner has at once; the owner's other calls wait for them."""


class Shares:
    """`run` may be cancelled or time out; its thread counts as the owner's until the call has really ended."""

    def __init__(self, name: str, *, threads: int = THREADS, each: int = EACH) -> None:
        self._name = name
        self._threads = threads
        self._each = each
        self._pool: ThreadPoolExecutor | None = None
        self._places: dict[str | None, asyncio.Semaphore] = {}
        self._users: dict[str | None, int] = {}

    async def run[T](self, owner: str | None, call: Callable[[], T]) -> T:
        """Perform the call in a thread; `owner` None is the operator."""
        places = self._places.setdefault(owner, asyncio.Semaphore(self._each))
        self._users[owner] = self._users.get(owner, 0) + 1
        try:
            await places.acquire()
        except BaseException:
            self._leave(owner)
            raise
        loop = asyncio.get_running_loop()

        def over() -> None:
            places.release()
            self._leave(owner)

        def ended(_future: "Future[T]") -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                loop.call_soon_threadsafe(over)

        future = self._open().submit(call)
        future.add_done_callback(ended)
        return await asyncio.wrap_future(future)

    @property
    def owners(self) -> int:
        """How many have calls under way."""
        return len(self._users)

    def close(self) -> None:
        """Let the threads end; another call starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, owner: str | None) -> None:
        self._users[owner] -= 1
        if not self._users[owner]:
            del self._users[owner], self._places[owner]

    def _open(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, self._name)
        return self._pool
