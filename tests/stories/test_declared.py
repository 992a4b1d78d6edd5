"""Schedules that a program declares: what is refused, whose they are, and what is said about them."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from math import nan
from pathlib import Path

import pytest

from cronty import Cronty, CrontyError, ResultNotKept
from cronty.app.declared import Schedule, plan
from cronty.app.programs import Program, program_of
from tests.patience import PATIENCE


def shop(url: str) -> Cronty:
    return Cronty(url)


def test_two_schedules_of_one_name_are_refused_where_they_are_declared() -> None:
    cronty = shop("postgresql://nowhere/nothing")

    @cronty.task
    def report(topic: str) -> str:
        return topic

    with pytest.raises(ValueError, match=r'(?s)report\("a"\).*report\("b"\).*\.options\(name=…\)'):
        cronty.schedules([report.every("monday at 7:00", topic) for topic in ("a", "b")])
    assert cronty.declared == []
    cronty.schedules([report.every("monday at 7:00", "a")])
    with pytest.raises(ValueError, match="two schedules"):
        cronty.schedules([report.every("monday at 7:00", "b")])

    @cronty.every("day at 9:00")
    def nightly() -> None: ...

    with pytest.raises(ValueError, match="two schedules"):
        cronty.schedules([report.options(name="nightly").every("monday at 7:00", "b")])


async def test_two_schedules_of_one_name_that_were_put_in_the_list_by_hand_are_refused_when_it_opens(url: str) -> None:
    cronty = shop(url)

    @cronty.task
    def report(topic: str) -> str:
        return topic

    cronty.declared += [report.every("monday at 7:00", topic) for topic in ("a", "b")]
    with pytest.raises(ValueError, match="two schedules"):
        async with cronty:
            pass
    async with shop(url) as after:
        assert (await after.list_jobs()).jobs == []


async def changes(cronty: Cronty) -> dict[str, str]:
    return {step.name: step.change for step in await plan(cronty)}


async def paused(cronty: Cronty) -> dict[str, bool]:
    return {job.name: job.paused for job in (await cronty.list_jobs()).jobs}


# -- whose schedules they are -------------------------------------------------------------------------------------


def project(url: str, name: str, *schedules: str, place: str | None = None) -> Cronty:
    """A program that is called `name`, in a folder `place`."""
    cronty = Cronty(url, program=name)
    if place is not None:
        cronty.program = Program(f"code:{name}", f"code-place:{place}")
    for one in schedules:

        @cronty.every("day at 1:00", name=one)
        def work() -> None: ...

    cronty.schedules([])
    return cronty


async def test_programs_that_are_called_alike_in_two_folders_leave_each_others_schedules_alone(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with project(url, "main", "one", "old", place="a"):
        pass
    async with project(url, "main", "two", place="b") as second:
        assert await paused(second) == {"one": False, "old": False, "two": False}
        assert await changes(second) == {"one": "other", "old": "other", "two": "same"}
    assert 'Cronty(program="…")' in caplog.text
    async with project(url, "main", "one", place="a") as first:
        assert await paused(first) == {"one": False, "old": True, "two": False}


async def test_a_program_that_is_given_a_name_keeps_its_jobs(url: str) -> None:
    cronty = Cronty(url)

    @cronty.every("day at 1:00", name="one")
    def work() -> None: ...

    async with cronty:
        [before] = (await cronty.list_jobs()).jobs
    async with project(url, "shop", "one") as named:
        [after] = (await named.list_jobs()).jobs
        assert (after.job_id, "code:shop" in after.tags) == (before.job_id, True)
        assert await changes(named) == {"one": "same"}
    async with project(url, "bar") as other:
        assert await paused(other) == {"one": False}


def test_a_script_is_known_by_its_folder_too_on_the_database_of_ones_own_machine(tmp_path: Path) -> None:
    assert program_of(__name__, by_place=True).place == program_of("tests", by_place=True).place
    ways: dict[str, list[str]] = {"a": ["main.py"], "b": ["main.py"], "c": ["-c", "import main"], "d": ["-m", "main"]}
    found: dict[str, str] = {}
    for way, arguments in ways.items():
        folder = tmp_path / ("b" if way == "b" else "a")
        folder.mkdir(exist_ok=True)
        program = "from cronty import Cronty\ncronty = Cronty()\ncronty.schedules([])\nprint(*cronty.programs)"
        (folder / "main.py").write_text(program)
        given = {name: value for name, value in os.environ.items() if name != "CRONTY_DATABASE_URL"}
        ran = subprocess.run([sys.executable, *arguments], cwd=folder, env=given, capture_output=True, check=True)
        found[way] = ran.stdout.decode()
    assert "code:main" in found["a"]
    assert found["a"] == found["c"] == found["d"]
    assert found["a"] != found["b"]


async def test_the_last_schedule_goes_with_its_function(url: str) -> None:
    async with project(url, "shop", "one"):
        pass
    cronty = Cronty(url)
    cronty.schedules([])
    assert {one.tag for one in cronty.programs} == {"code:tests"}
    last = Cronty(url, program="shop")
    last.schedules([])
    async with last:
        assert await paused(last) == {"one": True}


# -- what can't be read -------------------------------------------------------------------------------------------


async def test_nothing_is_applied_unless_all_can_be_read_and_each_that_cannot_is_named(url: str) -> None:
    cronty = shop(url)

    @cronty.every("day at 9:00")
    def good() -> None: ...

    @cronty.every("whenever it suits")
    def bad() -> None: ...

    @cronty.every("day at 9:00", zone="Europe/Berlim")
    def worse() -> None: ...

    @cronty.every("in 2 hours")
    def once() -> None: ...

    with pytest.raises(CrontyError) as refused:
        async with cronty:
            pass
    first, second, third = str(refused.value).splitlines()
    assert first.startswith("The schedule 'bad' of tests.stories.test_declared.")
    assert 'Can\'t read "whenever" in "whenever it suits".' in first
    assert "'worse'" in second
    assert "Europe/Berlin" in second
    assert 'Can\'t read "in 2 hours": every what? Say the unit' in third
    async with shop(url) as after:
        assert (await after.list_jobs()).jobs == []


def test_a_cron_may_be_declared_and_is_counted_as_it_was_written() -> None:
    cronty = shop("postgresql://nowhere/nothing")

    @cronty.every("0 9 * * *")
    def nightly() -> None: ...

    assert cronty.declared[0].when == "0 9 * * *"


@pytest.mark.parametrize("option", ["delay", "unique", "idempotency_key"])
def test_options_that_a_declared_schedule_would_not_keep_are_refused(option: str) -> None:
    cronty = shop("postgresql://nowhere/nothing")

    @cronty.task
    def report() -> None: ...

    with pytest.raises(CrontyError, match="aren't options of a schedule in code"):
        report.options(**{option: "1"}).every("monday at 7:00")  # pyright: ignore[reportArgumentType]


def test_what_is_no_schedule_is_refused_in_a_sentence() -> None:
    cronty, other = shop("postgresql://nowhere/nothing"), shop("postgresql://nowhere/nothing")

    @cronty.task
    def report() -> None: ...

    with pytest.raises(TypeError, match=r"not a coroutine\. task.schedule"):
        cronty.schedules([report.schedule("monday at 7:00")])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="not a tuple"):
        cronty.schedules([("report", "monday at 7:00")])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match='"pause" or "delete"'):
        cronty.schedules([], gone="remove")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="of another Cronty"):
        other.schedules([report.every("monday at 7:00")])
    with pytest.raises(TypeError, match=r'Say when report runs: @cronty.every\("day at 9:00"\)'):
        cronty.every(report)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r'every\("5 minutes"\).*not 300'):
        cronty.every(300)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="list of names"):
        Cronty(queues="gpu")
    with pytest.raises(ValueError, match=r"^concurrency is 0: Input should be greater than or equal to 1$"):
        Cronty(concurrency=0)
    assert isinstance(report.every("monday at 7:00"), Schedule)


def test_what_is_no_task_middleware_or_lifespan_is_refused_in_a_sentence() -> None:
    cronty = shop("postgresql://nowhere/nothing")
    with pytest.raises(TypeError, match="A task is a function, and not 'hello'"):
        cronty.task("hello")  # pyright: ignore[reportCallIssue, reportArgumentType]
    with pytest.raises(ValueError, match=r"A partial has no name to be known by: @cronty.task\(name=…\)"):
        cronty.task(partial(int, "3"))
    with pytest.raises(ValueError, match=r"Shop.pay is a method: nobody could give self to its run"):

        class Shop:  # pyright: ignore[reportUnusedClass]
            @cronty.task
            def pay(self, order: int) -> int:
                return order

    with pytest.raises(TypeError, match=r"retries is a whole number.*not '3'"):
        cronty.task(retries="3")  # pyright: ignore[reportCallIssue, reportArgumentType]
    for wrong in (lambda run, call_next: None, "hello"):  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]
        with pytest.raises(TypeError, match="is no middleware: make it an `async def"):
            cronty.middleware(wrong)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(TypeError, match="can't be called with two arguments"):

        @cronty.middleware  # pyright: ignore[reportArgumentType, reportUntypedFunctionDecorator]
        async def one(run: object) -> None: ...

    with pytest.raises(TypeError, match="Leave out @asynccontextmanager"):

        @cronty.lifespan  # pyright: ignore[reportArgumentType, reportUntypedFunctionDecorator]
        @asynccontextmanager
        async def pools() -> AsyncGenerator[int]:
            yield 1

    with pytest.raises(TypeError, match="yields once"):

        @cronty.lifespan  # pyright: ignore[reportArgumentType]
        async def returns() -> int:
            return 1


async def test_what_a_run_returns_is_kept_as_it_is_or_not_at_all(url: str) -> None:
    cronty = shop(url)
    odd: dict[str, object] = {"nan": [nan], "nul": "a\0b", "object": object(), "fine": {"a": None, "b": "\\u0000"}}

    @cronty.task
    def give(what: str) -> object:
        return odd[what]

    async with cronty:
        with pytest.raises(CrontyError, match="Did you mean give"):
            await cronty.enqueue("gives", "nan")
        with pytest.raises(CrontyError, match=r"is no delay\."):
            await give.options(delay="5 minutes").enqueue("nan")  # pyright: ignore[reportArgumentType]
        with pytest.raises(CrontyError, match="names no time zone"):
            await give.schedule(datetime(2100, 1, 1), "nan")  # noqa: DTZ001
        with pytest.raises(CrontyError, match=r"argument\. Give"):
            await give.enqueue()  # pyright: ignore[reportCallIssue]
        runs = {what: await give.enqueue(what) for what in odd}
        assert repr(runs["nan"]) == f"<{runs['nan'].run_id} of give>"
        for what in ("nan", "nul", "object"):
            with pytest.raises(ResultNotKept):
                await runs[what].result(timeout=PATIENCE)
        assert await runs["fine"].result(timeout=PATIENCE) == odd["fine"]


# -- what a person has changed ------------------------------------------------------------------------------------


async def test_what_a_person_has_changed_is_told_whatever_it_is_and_a_new_name_is_no_new_job(url: str) -> None:
    def program(when: str) -> Cronty:
        cronty = Cronty(url)
        for one in ("a", "b", "c"):

            @cronty.every(when, name=one)
            def work() -> None: ...

        return cronty

    async with program("day at 1:00") as cronty:
        before = {job.name: job.job_id for job in (await cronty.list_jobs()).jobs}
        await cronty.edit_job(before["a"], policy={"attempts": 9})
        await cronty.edit_job(before["b"], name="renamed")
    async with program("day at 1:00") as cronty:
        assert await changes(cronty) == {"a": "edited", "b": "edited", "c": "same"}
        assert set(await paused(cronty)) == {"a", "renamed", "c"}
    async with program("day at 2:00") as cronty:
        assert {job.name: job.job_id for job in (await cronty.list_jobs()).jobs} == before
        assert await changes(cronty) == {"a": "same", "b": "same", "c": "same"}


async def test_a_schedule_that_comes_back_is_said_to_be_resumed(url: str) -> None:
    async with project(url, "shop", "one"):
        pass
    async with project(url, "shop"):
        pass
    back = project(url, "shop", "one")
    async with Cronty(url, run_jobs=False) as looking:
        [step] = await plan(looking, back)
        assert step.change == "back"
    async with back:
        assert await paused(back) == {"one": False}


async def test_a_schedule_that_was_renamed_by_hand_comes_back_as_the_same_job(url: str) -> None:
    async with project(url, "shop", "one") as cronty:
        [job] = (await cronty.list_jobs()).jobs
        await cronty.edit_job(job.job_id, name="renamed")
    async with project(url, "shop") as cronty:
        assert await paused(cronty) == {"renamed": True}
    async with project(url, "shop", "one") as cronty:
        assert await paused(cronty) == {"one": False}
        assert [one.job_id for one in (await cronty.list_jobs()).jobs] == [job.job_id]


# -- who else is there --------------------------------------------------------------------------------------------


async def test_a_task_that_a_living_worker_has_with_other_parameters_is_told(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, third = shop(url), shop(url), shop(url)

    @first.task(name="report")
    def of_topic(topic: str) -> str:
        return topic

    @second.task(name="report")
    def of_number(number: int) -> int:
        return number

    @third.task(name="report")
    def of_number_too(number: int) -> int:
        return number

    async with first:
        assert "task report" not in caplog.text
        async with second:
            assert "task report: a living worker has it" in caplog.text
            caplog.clear()
            async with third:
                assert "task report" not in caplog.text


def program(url: str, package: str, *, name: str | None = None, run_jobs: bool = True) -> Cronty:
    """A program with a task `report`, whose function is in this package."""
    cronty = Cronty(url, program=name, run_jobs=run_jobs)

    def report() -> str:
        return package

    report.__module__ = f"{package}.tasks"
    cronty.task(report)
    return cronty


async def test_a_task_of_a_name_that_another_program_performs_is_refused_at_the_start(url: str) -> None:
    async with program(url, "shop") as first:
        with pytest.raises(
            CrontyError, match=r"Another program performs report too: shop \(worker .+:\d+\)"
        ) as refused:
            async with program(url, "bakery"):
                pass
        assert refused.value.code == "task_taken"
        assert '@cronty.task(name="bakery.report")' in refused.value.hint
        assert 'Cronty(program="bakery")' in refused.value.hint
        run = await first.enqueue("report")
        assert await run.result(timeout=PATIENCE) == "shop"
    async with program(url, "bakery"):  # nobody performs it any more
        pass


async def test_versions_of_one_program_perform_beside_each_other(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with (
        program(url, "shop"),
        program(url, "shop"),
        program(url, "shop", name="the shop"),  # it says its name for the first time
        program(url, "bakery", name="the shop", run_jobs=False),  # it only asks
    ):
        pass
    async with program(url, "shop", name="us"), program(url, "bakery", name="us"):
        pass
    assert "task report" not in caplog.text


async def test_of_two_programs_that_open_at_once_one_is_refused(url: str) -> None:
    both = program(url, "shop"), program(url, "bakery")
    opened = await asyncio.gather(*(one.__aenter__() for one in both), return_exceptions=True)
    try:
        assert any(isinstance(one, CrontyError) for one in opened)
    finally:
        for one in opened:
            if isinstance(one, Cronty):
                await one.__aexit__(None, None, None)
