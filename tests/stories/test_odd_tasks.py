"""Tasks that do what nobody expects: behind decorators, cancelled from inside, given up by their middleware."""

import asyncio
import functools
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from cronty import CallNext, Cronty, CurrentRun, TaskFailed, current_run
from cronty.testing import by_hand
from tests.patience import PATIENCE


def traced[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return inner


class Charging:
    async def __call__(self, order: int) -> str:
        await asyncio.sleep(0)
        return f"charged {order} of {current_run().run_id}"


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("form", ["decorated", "object"])
async def test_a_coroutine_in_whatever_clothes_is_awaited(url: str, form: str, wrapped: bool) -> None:
    cronty = Cronty()

    @traced
    async def charge(order: int) -> str:
        return await Charging()(order)

    cronty.task(name="charge")(charge if form == "decorated" else Charging())
    if wrapped:

        @cronty.middleware
        async def nothing(_run: CurrentRun, call_next: CallNext) -> Any:
            return await call_next()

    async with by_hand(cronty, url) as clock:
        run = await cronty.enqueue("charge", 7)
        await clock.run_until_idle()
        assert await run.result() == f"charged 7 of {run.run_id}"


async def test_an_async_generator_is_no_task(url: str) -> None:
    cronty = Cronty()

    async def ticks() -> AsyncGenerator[int]:
        yield 1

    with pytest.raises(ValueError, match="ticks yields: nobody would run it"):
        cronty.task(ticks)
    cronty.task(name="ticks")(traced(ticks))
    async with by_hand(cronty, url) as clock:
        run = await cronty.named("ticks").options(policy={"attempts": 1}).enqueue()
        await clock.run_until_idle()
        with pytest.raises(TaskFailed, match="an async generator, which nobody has run"):
            await run.result()


async def test_a_decorated_coroutine_is_cancelled_at_its_timeout(url: str) -> None:
    cronty = Cronty()
    seen: list[str] = []

    @cronty.task(timeout=0.1)
    @traced
    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async with by_hand(cronty, url) as clock:
        run = await hang.enqueue()
        await clock.run_until_idle()
        with pytest.raises(TaskFailed, match="Timeout"):
            await run.result()
    assert seen == ["cancelled"]


@pytest.mark.parametrize("form", ["coroutine", "function"])
async def test_a_cancellation_that_nobody_asked_for_is_a_failure(url: str, form: str) -> None:
    cronty = Cronty()

    async def inner() -> None:
        task = asyncio.create_task(asyncio.Event().wait())
        task.cancel()
        await task

    cronty.task(name="work", retries=2, policy={"backoff": 1})(inner if form == "coroutine" else traced(inner))
    async with by_hand(cronty, url) as clock:
        run = await cronty.enqueue("work")
        await clock.move(hours=1)
        with pytest.raises(TaskFailed, match="CancelledError") as failed:
            await run.result()
        assert failed.value.verdict == "failed"
        assert (await cronty.show_run(run.run_id)).attempt == 3


async def test_middleware_that_gives_up_waiting_for_a_function_has_the_last_word(url: str) -> None:
    cronty = Cronty()
    gave_up = threading.Event()

    @cronty.middleware
    async def patient(_run: CurrentRun, call_next: CallNext) -> Any:
        try:
            async with asyncio.timeout(0.05):
                return await call_next()
        except TimeoutError:
            gave_up.set()
            return "instead"

    @cronty.task
    def slow() -> str:
        gave_up.wait(PATIENCE)
        return "at last"

    async with by_hand(cronty, url) as clock:
        run = await slow.enqueue()
        await clock.run_until_idle()
        assert await run.result() == "instead"


async def test_middleware_that_hangs_around_a_function_is_cancelled_and_holds_no_thread(url: str) -> None:
    cronty = Cronty(concurrency=1)
    seen: list[str] = []

    @cronty.middleware
    async def hanging(run: CurrentRun, call_next: CallNext) -> Any:
        if run.task == "quick":
            return await call_next()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("ended")

    @cronty.task(timeout=0.1)
    def slow() -> None: ...

    @cronty.task
    def quick() -> str:
        return "done"

    async with by_hand(cronty, url) as clock:
        for _ in range(2):
            run = await slow.enqueue()
            await clock.run_until_idle()
            with pytest.raises(TaskFailed, match="Timeout"):
                await run.result()
        assert seen == ["ended"] * 2
        after = await quick.enqueue()
        await clock.run_until_idle()
        assert await after.result() == "done"


async def test_middleware_around_a_function_does_not_end_the_program(url: str) -> None:
    cronty = Cronty()

    @cronty.middleware
    async def exits(_run: CurrentRun, _call_next: CallNext) -> Any:
        sys.exit(4)

    @cronty.task
    def plain() -> None: ...

    async with by_hand(cronty, url) as clock:
        run = await plain.enqueue()
        await clock.run_until_idle()
        with pytest.raises(TaskFailed, match="SystemExit: 4"):
            await run.result()
