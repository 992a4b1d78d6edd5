"""Middleware: functions around the call of a task."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any

from cronty.actions.current import CurrentRun

type CallNext = Callable[[], Awaitable[Any]]
type Middleware = Callable[[CurrentRun, CallNext], Awaitable[Any]]
"""It awaits `call_next()`, which performs the task and returns its result or raises what it raised, and returns the
result."""


async def through(around: Sequence[Middleware], run: CurrentRun, call: CallNext) -> object:
    """Perform a coroutine function with its middleware, the first one outermost."""
    if not around:
        return await call()
    return await around[0](run, lambda: through(around[1:], run, call))


def through_from_thread(
    around: Sequence[Middleware], run: CurrentRun, function: Callable[[], object], loop: asyncio.AbstractEventLoop
) -> object:
    """The same for a plain function: its middleware is on the event loop, and the function stays in this thread."""
    turns: SimpleQueue[tuple[Context, Future[object]] | None] = SimpleQueue()

    async def call() -> object:
        returned = Future[object]()
        turns.put((copy_context(), returned))  # what the middleware has set holds for the function
        return await asyncio.wrap_future(returned)

    async def perform() -> object:
        try:
            return await through(around, run, call)
        finally:
            turns.put(None)

    performed = asyncio.run_coroutine_threadsafe(perform(), loop)
    while (turn := turns.get()) is not None:
        context, returned = turn
        try:
            returned.set_result(context.run(function))
        except Exception as raised:
            returned.set_exception(raised if not isinstance(raised, StopIteration) else _as_error(raised))
        except BaseException as raised:  # it would end the event loop
            returned.set_exception(_as_error(raised))
    return performed.result()


def _as_error(raised: BaseException) -> RuntimeError:
    error = RuntimeError(f"the task raised {type(raised).__name__}: {raised}")
    error.__cause__ = raised
    return error
