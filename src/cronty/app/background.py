"""Runs an async context manager in its own thread, for programs that aren't async."""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any


class Background:
    """`start` returns once it is open, `stop` once it is closed."""

    def __init__(self, opened: AbstractAsyncContextManager[object]) -> None:
        self._opened = opened
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ending: asyncio.Event | None = None

    def start(self) -> None:
        if self._thread is not None:
            raise RuntimeError("Cronty is already started.")
        ready = threading.Event()
        failure: list[BaseException] = []

        async def serve() -> None:
            self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
            try:
                async with self._opened:
                    ready.set()
                    await self._ending.wait()
            except BaseException as error:
                failure.append(error)
            finally:
                ready.set()

        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), name="cronty", daemon=True)
        self._thread.start()
        ready.wait()
        if failure:
            self._thread.join()
            self._thread = None
            raise failure[0]

    def stop(self) -> None:
        if self._thread is None or self._loop is None or self._ending is None:
            return
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._thread = None


def wait_for[T](call: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None) -> T:
    """Make a call on the event loop of another thread, and return its result."""
    problem = None
    if loop is None:
        problem = "Cronty isn't started; call cronty.start() first."
    elif asyncio._get_running_loop() is loop:
        problem = "This thread runs Cronty's event loop: await the call instead of waiting for it."
    if loop is None or problem is not None:
        call.close()
        raise RuntimeError(problem)
    return asyncio.run_coroutine_threadsafe(call, loop).result()
