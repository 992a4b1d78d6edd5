"""Runs an async context manager in its own thread, for programs that aren't async."""

import asyncio
import os
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
        self.pid: int | None = None
        """The process that opened it."""

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

    def check_process(self) -> None:
        """A fork has no event loop that runs: whoever waits for it waits forever."""
        if self.pid not in (None, os.getpid()):
            raise RuntimeError(
                "This process was forked from the one that has Cronty open: start it after the fork, or make another "
                "Cronty(…) in here and start that."
            )

    def wait_for[T](self, call: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None) -> T:
        """Make a call on the event loop of another thread, and return its result."""
        try:
            self.check_process()
            if loop is None:
                raise RuntimeError("Cronty isn't started; call cronty.start() first.")
            if asyncio._get_running_loop() is loop:
                raise RuntimeError("This thread runs Cronty's event loop: await the call instead of waiting for it.")
        except RuntimeError:
            call.close()
            raise
        return asyncio.run_coroutine_threadsafe(call, loop).result()
