"""Functions that compute in processes of their own: typed as any other, killed in time, and never left behind."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from cronty import CallNext, Cronty, CurrentRun, Run, RunInLogs, TaskFailed, current_run
from cronty.actions.children import Child
from cronty.testing import by_hand, perform
from tests.patience import PATIENCE
from tests.stories import computing
from tests.stories.computing import (
    answer_twice,
    can_be_looked_into,
    compute,
    coroutine,
    cronty,
    die,
    enlarge,
    fork,
    mumble,
    pooled,
    refuse,
    set_a_trap,
    spin,
)


@pytest.fixture(autouse=True)
def without_middleware() -> Iterator[None]:
    yield
    cronty._middleware.clear()  # pyright: ignore[reportPrivateUsage]


async def test_a_task_in_a_process_is_typed_and_logged_as_any_other(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(RunInLogs())
    caplog.set_level("INFO")
    order = uuid4()
    async with by_hand(cronty, url) as clock:
        first = await compute.enqueue(order, copies=2)
        await clock.run_until_idle()
        second = await compute.enqueue(order)
        await clock.run_until_idle()
        same, copies, pid = await first.result()
        assert (same, copies, pid != os.getpid()) == (order, 2, True)
        assert (await second.result())[2] == pid  # it is kept for the next call
        children = psutil.Process().children(recursive=True)
    assert pid in [one.pid for one in children]
    assert not psutil.pid_exists(pid)
    (record,) = [one for one in caplog.records if one.message == "computing 2"]
    assert (record.name, record.__dict__["run_id"]) == ("computing", first.run_id)
    assert (await perform(compute, order))[2] == os.getpid()


async def test_what_a_process_raises_or_does_to_itself_is_the_outcome(url: str) -> None:
    async with by_hand(cronty, url) as clock:
        runs: list[Run[None]] = [await refuse.enqueue("never"), await die.enqueue(), await refuse.enqueue("again")]
        await clock.run_until_idle()
        for run, words in zip(runs, ("never", "exit code -9", "again"), strict=True):
            with pytest.raises(TaskFailed, match=words) as failed:
                await run.result()
            assert ("raise PermanentError(word)" in (failed.value.traceback or "")) == (words != "exit code -9")


async def test_what_a_log_record_holds_besides_comes_as_text(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with by_hand(cronty, url) as clock:
        mumbled = await mumble.enqueue()
        await clock.run_until_idle()
        assert await mumbled.result() is None
    (record,) = [one for one in caplog.records if one.message == "mumbling"]
    assert record.__dict__["why"] == "not now"


async def test_what_a_process_answers_runs_nothing_in_the_worker_and_spoils_no_other_call(
    url: str, tmp_path: Path
) -> None:
    order = uuid4()
    async with by_hand(cronty, url) as clock:
        trapped = await set_a_trap.enqueue(tmp_path / "trap")
        await clock.run_until_idle()
        with pytest.raises(TaskFailed, match="answered can't be read"):
            await trapped.result()
        assert not (tmp_path / "trap").exists()
        done = await compute.enqueue(order)
        await clock.run_until_idle()
        assert (await done.result())[0] == order


async def test_a_fork_that_falls_out_of_a_function_answers_nobody(url: str) -> None:
    order = uuid4()
    async with by_hand(cronty, url) as clock:
        forked = await fork.enqueue(sleeps=False)
        await clock.run_until_idle()
        assert await forked.result() == "of the process"
        for copies in (2, 3):
            after = await compute.enqueue(order, copies)
            await clock.run_until_idle()
            assert (await after.result())[:2] == (order, copies)


async def test_one_answer_too_many_is_not_taken_for_that_to_the_next_call(url: str) -> None:
    order = uuid4()
    async with by_hand(cronty, url) as clock:
        twice = await answer_twice.enqueue("one")
        await clock.run_until_idle()
        assert await twice.result() == "one too early"
        after = await compute.enqueue(order)
        await clock.run_until_idle()
        assert (await after.result())[0] == order


@pytest.mark.parametrize("left", ["fork", "fork_behind_our_back"])
async def test_a_process_that_dies_is_noticed_though_it_leaves_a_fork(url: str, left: str) -> None:
    async with by_hand(cronty, url) as clock:
        run = await cronty.named(left).enqueue(*([True] if left == "fork" else []))
        await clock.run_until_idle()
        with pytest.raises(TaskFailed, match="exit code 7"):
            await run.result()


async def test_a_process_that_was_killed_while_idle_fails_no_run(url: str) -> None:
    async with by_hand(cronty, url) as clock:
        first = await compute.enqueue(uuid4())
        await clock.run_until_idle()
        pid = (await first.result())[2]
        os.kill(pid, signal.SIGKILL)
        # All its threads must have ended: the first may be a zombie while others are still there.
        await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        second = await compute.enqueue(uuid4())
        await clock.run_until_idle()
        assert (await second.result())[1] == 1  # its first attempt


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such switch")
async def test_what_a_function_starts_cannot_take_its_pipe(url: str) -> None:
    async with by_hand(cronty, url) as clock:
        looked = await can_be_looked_into.enqueue()
        await clock.run_until_idle()
        assert await looked.result() is False


async def test_a_process_has_a_pool_and_awaits_as_any_other(url: str) -> None:
    async with by_hand(cronty, url) as clock:
        numbers, word = await pooled.enqueue(), await coroutine.enqueue()
        await clock.run_until_idle()
        assert await numbers.result() == [1, 2]
        assert await word.result() == "awaited"


async def test_middleware_has_the_result_of_a_process_whole(url: str) -> None:
    sizes: list[int] = []

    @cronty.middleware
    async def measure(_run: CurrentRun, call_next: CallNext) -> Any:
        result: computing.Large = await call_next()
        sizes.append(len(result.text))
        return result

    async with by_hand(cronty, url) as clock:
        run = await enlarge.enqueue(70_000)
        await clock.run_until_idle()
        assert sizes == [70_000]
        assert (await cronty.show_run(run.run_id)).verdict == "done"


async def test_middleware_is_around_a_process_too(url: str) -> None:
    seen: list[object] = []

    @cronty.middleware
    async def watch(run: CurrentRun, call_next: CallNext) -> Any:
        try:
            seen.append(await call_next())
        except Exception as error:
            seen.append(f"{run.task}: {error}")
            raise
        return seen[-1]

    order = uuid4()
    async with by_hand(cronty, url) as clock:
        done, refused = await compute.enqueue(order), await refuse.enqueue("never")
        await clock.run_until_idle()
        assert {str(each) for each in seen} == {str(await done.result()), "refuse: never"}
        assert len(seen) == 2
        with pytest.raises(TaskFailed, match="never"):
            await refused.result()


async def gone(pids: list[int]) -> None:
    async with asyncio.timeout(PATIENCE):
        while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids):
            await asyncio.sleep(0.02)


async def pids_in(folder: Path) -> list[int]:
    async with asyncio.timeout(PATIENCE):
        while not os.path.exists(folder / "pids"):  # noqa: ASYNC240
            await asyncio.sleep(0.02)
    return [int(pid) for pid in (folder / "pids").read_text().split()]


async def test_a_process_past_its_timeout_is_killed_with_all_it_started(url: str, tmp_path: Path) -> None:
    async with by_hand(cronty, url) as clock:
        await compute.enqueue(uuid4())
        await clock.run_until_idle()  # its process has imported the program
        run = await spin.options(policy={"timeout": 2, "attempts": 1}).enqueue(tmp_path)
        performing = asyncio.create_task(clock.run_until_idle())
        pids = await pids_in(tmp_path)
        await performing
        with pytest.raises(TaskFailed, match="Timeout"):
            await run.result()
        await gone(pids)
        again = await compute.enqueue(uuid4())
        await clock.run_until_idle()
        assert (await again.result())[1] == 1


async def test_no_process_outlives_a_worker_that_was_killed(url: str, tmp_path: Path) -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.stories.computing", env={**os.environ, "CRONTY_DATABASE_URL": url}
    )
    try:
        async with Cronty(url, run_jobs=False) as door:
            async with asyncio.timeout(PATIENCE):
                while "spin" not in [task.name for task in (await door.list_tasks()).tasks]:
                    await asyncio.sleep(0.02)
            await door.named("spin").enqueue(str(tmp_path))
            pids = await pids_in(tmp_path)
    finally:
        worker.kill()
        await worker.wait()
    await gone(pids)


def test_only_what_another_process_can_import_is_performed_in_one() -> None:
    def inside() -> None: ...

    async def coroutine() -> None: ...

    for function in (inside, coroutine, lambda: None):
        with pytest.raises(ValueError, match="can't be performed in a process of its own"):
            Cronty().task(process=True)(function)
    Cronty().task(process=True)(computing.spin.function)


async def test_a_plain_function_schedules_from_its_thread(url: str) -> None:
    program = Cronty(url)

    @program.task
    async def follow(word: str) -> str:
        return f"{word} {current_run().attempt}"

    @program.task
    def plain() -> str:
        run = program.wait(follow.enqueue("followed"))
        return program.wait(run.result(timeout=PATIENCE))

    with pytest.raises(RuntimeError, match="isn't started"):
        program.wait(follow.enqueue("too early"))
    async with program:
        run = await plain.enqueue()
        assert await run.result(timeout=PATIENCE) == "followed 1"
        with pytest.raises(RuntimeError, match="await the call instead"):
            program.wait(follow.enqueue("from the loop"))


def test_a_process_is_ready_when_it_has_imported_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "heavy_program.py").write_text("from pathlib import Path\nPath(__file__).with_name('done').touch()\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    child = Child("heavy_program")
    try:
        assert (tmp_path / "done").exists()
    finally:
        child.end()
