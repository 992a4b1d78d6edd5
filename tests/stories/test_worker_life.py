"""The life of a worker: what it opens, what is around its tasks, what its logs say, and where a task failed."""

import asyncio
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from cronty import CallNext, Cronty, CurrentRun, PermanentError, Run, RunInLogs, TaskFailed, current, current_run
from cronty.testing import by_hand, perform
from tests.patience import PATIENCE

PAGE = Path(__file__).parents[2] / "docs/how-to/worker.md"


async def test_what_a_worker_opens_is_there_for_its_tasks_until_the_last_has_ended(url: str) -> None:
    cronty = Cronty(url)
    seen: list[str] = []
    begun, finish = asyncio.Event(), asyncio.Event()

    @cronty.lifespan
    async def pool() -> AsyncGenerator[dict[str, int]]:
        seen.append("open")
        yield {"size": 3}
        seen.append("closed")

    @cronty.lifespan
    async def user() -> AsyncGenerator[str]:
        yield f"of {pool()['size']}"
        seen.append("user closed")

    @cronty.task
    async def slow() -> str:
        begun.set()
        await finish.wait()
        seen.append("ended")
        return user()

    with pytest.raises(RuntimeError, match=r"pool\(\) is there only while a worker runs"):
        pool()
    async with cronty:
        run = await slow.enqueue()
        await asyncio.wait_for(begun.wait(), PATIENCE)
        asyncio.get_running_loop().call_later(0.05, finish.set)
    assert seen == ["open", "ended", "user closed", "closed"]
    seen.clear()
    async with Cronty(url, run_jobs=False):
        assert seen == []
    cronty.run_jobs = False
    async with cronty:
        assert await run.result(timeout=PATIENCE) == "of 3"
        assert seen == []
    with pool.instead({"size": 9}):
        assert pool() == {"size": 9}


@pytest.mark.parametrize("form", ["coroutine", "function"])
async def test_a_run_that_a_stop_waits_for_can_still_ask(url: str, form: str) -> None:
    cronty = Cronty(url)
    begun, closing = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    left: list[Run[None]] = []

    @cronty.lifespan
    async def pool() -> AsyncGenerator[None]:
        yield
        left.append(await follow.enqueue())

    @cronty.task
    async def follow() -> None: ...

    if form == "coroutine":

        @cronty.task(name="slow")
        async def coroutine() -> str:
            begun.set()
            await asyncio.to_thread(closing.wait, PATIENCE)
            return (await follow.enqueue()).run_id

    else:

        @cronty.task(name="slow")
        def function() -> str:
            loop.call_soon_threadsafe(begun.set)
            closing.wait(PATIENCE)
            return cronty.wait(follow.enqueue()).run_id

    async with cronty:
        slow = await cronty.enqueue("slow")
        await asyncio.wait_for(begun.wait(), PATIENCE)
        loop.call_later(0.05, closing.set)  # when it closes already
    with pytest.raises(RuntimeError, match="isn't open"):
        await follow.enqueue()
    cronty.run_jobs = False
    async with cronty:
        assert (await slow.result(timeout=PATIENCE)).startswith("run_")
        assert len(left) == 1


async def test_a_close_that_is_cancelled_leaves_nothing_behind_and_hands_its_run_over(url: str) -> None:
    cronty = Cronty(url)
    begun = asyncio.Event()
    runs: list[Run[str]] = []

    @cronty.task
    async def slow() -> str:
        if current_run().attempt == 1:
            begun.set()
            await asyncio.Event().wait()
        return f"attempt {current_run().attempt}"

    async def cut_short(limit: asyncio.Timeout) -> None:
        async with limit, cronty:
            runs.append(await slow.enqueue())
            await begun.wait()
            limit.reschedule(asyncio.get_running_loop().time() + 0.05)  # while it waits for the run

    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        await cut_short(asyncio.timeout(PATIENCE))
    assert asyncio.all_tasks() == before
    async with cronty:
        assert await runs[0].result(timeout=PATIENCE) == "attempt 2"


async def test_a_program_that_is_open_is_not_opened_again(url: str) -> None:
    cronty = Cronty(url)

    @cronty.task
    async def work() -> str:
        return "done"

    async with cronty:
        with pytest.raises(RuntimeError, match="open already"):
            async with cronty:
                pass
        with pytest.raises(RuntimeError, match="open already"):
            async with by_hand(cronty, url):
                pass
        with pytest.raises(RuntimeError, match="open already"):
            cronty.start()
        run = await work.enqueue()
        assert await run.result(timeout=PATIENCE) == "done"
    async with by_hand(cronty, url) as clock:
        with pytest.raises(RuntimeError, match="open already"):
            async with by_hand(cronty, url):
                pass
        run = await work.enqueue()
        await clock.run_until_idle()
        assert await run.result() == "done"


async def test_a_worker_whose_lifespan_fails_does_not_open(url: str) -> None:
    cronty = Cronty(url)
    seen: list[str] = []

    @cronty.lifespan
    async def first() -> AsyncGenerator[None]:
        try:
            yield
        finally:
            seen.append("closed")

    @cronty.lifespan
    async def second() -> AsyncGenerator[None]:
        raise ValueError("no such pool")
        yield

    with pytest.raises(ValueError, match="no such pool"):
        async with cronty:
            pass
    assert seen == ["closed"]


variable: ContextVar[str] = ContextVar("variable", default="unset")


@pytest.mark.parametrize("form", ["coroutine", "function"])
async def test_middleware_is_around_every_task_in_order(url: str, form: str) -> None:
    cronty = Cronty()
    seen: list[object] = []

    @cronty.middleware
    async def outer(run: CurrentRun, call_next: CallNext) -> Any:
        seen.append(f"before {run.task} {run.attempt}")
        try:
            return f"<{await call_next()}>"
        except ValueError as error:
            seen.append(f"error {error}")
            raise PermanentError("never again") from error

    @cronty.middleware
    async def inner(run: CurrentRun, call_next: CallNext) -> Any:
        variable.set("set")
        result = await call_next()
        seen.append("after")
        return result

    def performed(word: str) -> str:
        if word == "fail":
            raise ValueError("no luck")
        if word == "stop":
            raise StopIteration
        return f"{word} {variable.get()} {current_run().attempt}"

    if form == "coroutine":

        @cronty.task(name="work", retries=3)
        async def coroutine(word: str) -> str:
            return performed(word)

    else:

        @cronty.task(name="work", retries=3)
        def function(word: str) -> str:
            assert threading.current_thread() is not threading.main_thread()
            return performed(word)

    async with by_hand(cronty, url) as clock:
        done = await cronty.enqueue("work", "hello")
        await clock.run_until_idle()
        assert await done.result() == "<hello set 1>"
        assert seen == ["before work 1", "after"]
        failed, stopped = [await cronty.enqueue("work", word) for word in ("fail", "stop")]
        await clock.run_until_idle()
        with pytest.raises(TaskFailed, match="never again"):
            await failed.result()
        await clock.move(hours=1)
        with pytest.raises(TaskFailed, match="StopIteration"):
            await stopped.result()
    assert seen.count("error no luck") == 1


async def test_middleware_is_around_a_task_that_is_performed_in_a_test() -> None:
    cronty = Cronty()

    @cronty.middleware
    async def louder(run: CurrentRun, call_next: CallNext) -> Any:
        return f"{await call_next()} from {run.task}!"

    @cronty.task
    def greet(name: str) -> str:
        return f"hello {name}"

    assert await perform(greet, "ann") == "hello ann from greet!"


async def test_a_parameter_for_the_run_is_filled_and_nobody_gives_it(url: str) -> None:
    cronty = Cronty()

    @cronty.task
    def which(word: str, run: CurrentRun = current(), *, loud: bool = False) -> str:  # noqa: B008
        return f"{word} {run.attempt} {run.task} {loud}"

    async with by_hand(cronty, url) as clock:
        run = await which.enqueue("hello", loud=True)
        await clock.run_until_idle()
        assert await run.result() == "hello 1 which True"
        (task,) = [one for one in (await cronty.list_tasks()).tasks if one.name == "which"]
        assert list(task.parameters["properties"]) == ["word", "loud"]
    assert await perform(which, "hi") == "hi 1 which False"
    with pytest.raises(ValueError, match=r"Put run last in wrong, as `run: CurrentRun = current\(\)`"):

        @cronty.task
        def wrong(run: CurrentRun, word: str) -> None: ...


async def test_log_records_name_the_run_that_wrote_them(url: str, caplog: pytest.LogCaptureFixture) -> None:
    cronty = Cronty()
    log = logging.getLogger("shop")
    caplog.handler.addFilter(RunInLogs())
    caplog.set_level("INFO", "shop")

    @cronty.task
    async def coroutine() -> None:
        await asyncio.create_task(deeper())

    async def deeper() -> None:
        log.info("from a coroutine")

    @cronty.task
    def function() -> None:
        log.info("from a function")

    async with by_hand(cronty, url) as clock:
        runs = [await coroutine.enqueue(), await function.enqueue()]
        log.info("from outside")
        await clock.run_until_idle()
    said = {record.message: record.__dict__ for record in caplog.records if record.name == "shop"}
    assert [said["from outside"][name] for name in ("run_id", "job", "task", "attempt")] == ["-"] * 4
    assert said["from a coroutine"]["run_id"] == runs[0].run_id
    assert (said["from a function"]["run_id"], said["from a function"]["task"]) == (runs[1].run_id, "function")
    assert (said["from a function"]["job"], said["from a function"]["attempt"]) == (2, 1)


async def test_a_failed_run_says_where_its_task_failed_and_only_to_the_program(url: str) -> None:
    cronty = Cronty()

    def deep_inside() -> None:
        raise ValueError("no luck\nsecond line")

    @cronty.task
    async def fails() -> None:
        try:
            deep_inside()
        except ValueError as error:
            raise RuntimeError("gave up") from error

    @cronty.task
    def floods() -> None:
        raise ValueError("x" * 100_000 + "\0 the end")

    async with by_hand(cronty, url) as clock:
        runs = [await one.options(policy={"attempts": 1}).enqueue() for one in (fails, floods)]
        await clock.run_until_idle()
        with pytest.raises(TaskFailed) as failed:
            await runs[0].result()
        trace = failed.value.traceback
        assert trace is not None
        assert [word in trace for word in ("deep_inside()", "second line", "raise RuntimeError")] == [True] * 3
        assert "outcome_of" not in trace
        assert trace.rstrip() in str(failed.value)
        shown = await cronty.show_run(runs[0].run_id)
        assert "deep_inside" not in repr(shown)
        with pytest.raises(TaskFailed) as flooded:
            await runs[1].result()
        assert len(flooded.value.traceback or "") == 8000
        assert (flooded.value.traceback or "").rstrip().endswith("the end")


def run_program(number: int, url: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """A program of the page, as a reader would run it."""
    program = tmp_path / "shop.py"
    program.write_text(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[number])
    ran = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "CRONTY_DATABASE_URL": url},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran


def test_the_program_that_computes_runs(url: str, tmp_path: Path) -> None:
    assert run_program(1, url, tmp_path).stdout == "197\n"


def test_the_first_program_of_the_page_runs(url: str, tmp_path: Path) -> None:
    ran = run_program(0, url, tmp_path)
    first, second, *trace = ran.stdout.splitlines()
    assert re.fullmatch(r"https://shop\.test/prices for run_1_\d+", first)
    assert second == "ValueError: prices is no path"
    assert trace[0].startswith("Traceback")
    assert re.search(r"^run_1_\d+ 1 fetching /prices$", ran.stderr, re.MULTILINE)
    assert re.search(r"^run_2_\d+ 1 fetch refused its arguments$", ran.stderr, re.MULTILINE)
