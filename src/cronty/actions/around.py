"""Middleware: functions around the call of a task."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextvars import Context, copy_context
from inspect import isawaitable, iscoroutinefunction, isfunction, signature
from queue import SimpleQueue
from typing import Any

from cronty.actions.current import CurrentRun

type CallNext = Callable[[], Awaitable[Any]]
type Middleware = Callable[[CurrentRun, CallNext], Awaitable[Any]]
"""It awaits `call_next()`, which performs the task and returns its result or raises what it raised, and returns the
result."""


def checked_middleware(function: Middleware) -> Middleware:
    """The same, unless it is plainly something else: TypeError says what."""
    usual = "`async def around(run: CurrentRun, call_next: CallNext)` that returns what `await call_next()` returned"
    name = getattr(function, "__name__", repr(function))
    plain = isfunction(function) and not iscoroutinefunction(function) and not hasattr(function, "__wrapped__")
    if plain or not callable(function):
        raise TypeError(f"{name} is no middleware: make it an {usual}.")
    try:
        signature(function).bind(None, None)
    except TypeError:
        raise TypeError(
            f"{name} is no middleware, because it can't be called with two arguments: make it an {usual}."
        ) from None
    except ValueError:  # one without a signature
        pass
    return function


async def through(around: Sequence[Middleware], run: CurrentRun, call: CallNext) -> object:
    """Perform a coroutine function with its middleware, the first one outermost."""
    if not around:
        return await call()
    return await around[0](run, lambda: through(around[1:], run, call))


class OnLoop:
    """What a thread waits for on the event loop. Whoever gives the thread up cancels it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._begun: Future[object] | None = None
        self._cancelled = False

    def begin(self, awaited: Awaitable[object]) -> Future[object]:
        with self._lock:
            self._begun = asyncio.run_coroutine_threadsafe(ending_nothing(awaited), self._loop)
            if self._cancelled:
                self._begun.cancel()
            return self._begun

    def cancel(self) -> None:
        """On the event loop alone."""
        with self._lock:
            self._cancelled = True
            begun = self._begun
        if begun is not None:
            begun.cancel()


def through_from_thread(
    around: Sequence[Middleware], run: CurrentRun, function: Callable[[], object], on_loop: OnLoop
) -> object:
    """The same for a plain function: its middleware is on the event loop, and the function stays in this thread."""
    turns: SimpleQueue[tuple[Context, Future[object]] | None] = SimpleQueue()
    ended = threading.Event()

    async def call() -> object:
        if ended.is_set():  # no thread takes its turn any more
            raise RuntimeError("call_next() was called after its run had ended")
        returned = Future[object]()
        turns.put((copy_context(), returned))  # what the middleware has set holds for the function
        value = await asyncio.wrap_future(returned)
        return await value if isawaitable(value) else value

    def end(_performed: Future[object]) -> None:
        ended.set()
        turns.put(None)

    performed = on_loop.begin(through(around, run, call))
    performed.add_done_callback(end)
    while (turn := turns.get()) is not None:
        context, returned = turn
        if not returned.set_running_or_notify_cancel():  # from here on, middleware that gives up can't cancel it
            continue
        try:
            returned.set_result(context.run(function))
        except Exception as raised:
            returned.set_exception(raised if not isinstance(raised, StopIteration) else _as_error(raised))
        except BaseException as raised:  # it would end the event loop
            returned.set_exception(_as_error(raised))
    return performed.result()


async def ending_nothing(awaited: Awaitable[object]) -> object:
    """What it returns or raises; what would end the event loop is an error."""
    try:
        return await awaited
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as raised:
        raise _as_error(raised) from raised


def _as_error(raised: BaseException) -> RuntimeError:
    error = RuntimeError(f"the task raised {type(raised).__name__}: {raised}")
    error.__cause__ = raised
    return error
