"""A developer's own functions: typed in, typed out, scheduled, enqueued, declared, and tested without a database."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from asyncpg import Connection
from pydantic import BaseModel

from cronty import Cronty, CrontyError, ResultNotKept, Run, TaskFailed, current_run
from cronty.app.declared import GONE, WhenGone, plan
from cronty.testing import perform
from tests.patience import PATIENCE


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Address:
    city: str
    since: date


class Order(BaseModel):
    id: UUID
    total: Decimal
    to: Address
    sizes: set[Size] = set()


class Receipt(BaseModel):
    order: UUID
    paid: Decimal
    at: datetime


ORDER = Order(id=uuid4(), total=Decimal("9.90"), to=Address("Kiel", date(2026, 1, 2)), sizes={Size.LARGE})


def shop(url: str) -> Cronty:
    """As a program that was deployed anew: nothing is remembered from before."""
    return Cronty(url, data_dir=Path("/nonexistent"))


async def test_what_goes_in_and_comes_back_has_the_types_that_the_hints_name(url: str) -> None:
    cronty = shop(url)
    seen: list[object] = []

    @cronty.task(retries=2, timeout=60)
    async def pay(order: Order, within: timedelta, note: str | None = None, *, raw: bytes = b"") -> Receipt:
        seen.extend([order, within, note, raw])
        return Receipt(order=order.id, paid=order.total, at=datetime(2027, 1, 1, tzinfo=UTC))

    async with cronty:
        run = await pay.enqueue(ORDER, timedelta(hours=3), raw=b"xyz")
        receipt = await run.result(timeout=PATIENCE)
    assert seen == [ORDER, timedelta(hours=3), None, b"xyz"]
    assert receipt == Receipt(order=ORDER.id, paid=Decimal("9.90"), at=datetime(2027, 1, 1, tzinfo=UTC))


async def test_a_plain_function_is_typed_too_and_stays_a_function(url: str) -> None:
    cronty = shop(url)

    @cronty.task
    def total(sizes: list[Size], day: date) -> dict[Size, date]:
        """Add up."""
        return dict.fromkeys(sizes, day)

    assert total([Size.SMALL], date(2027, 1, 1)) == {Size.SMALL: date(2027, 1, 1)}
    assert (total.__name__, total.__doc__) == ("total", "Add up.")
    async with cronty:
        run = await total.enqueue([Size.SMALL], date(2027, 1, 1))
        assert await run.result(timeout=PATIENCE) == {Size.SMALL: date(2027, 1, 1)}


async def test_what_a_task_says_about_its_jobs_holds_for_every_surface(url: str, sql: Connection) -> None:
    cronty = shop(url)

    @cronty.task(retries=2, timeout=60)
    async def pay(order: str) -> None: ...

    async with cronty:
        await cronty.schedule_job("by name", "pay", "words", {"text": "in 2 hours"}, ["x"])
        await pay.options(policy={"timeout": 5}).schedule(timedelta(hours=1), "y")
    rows = await sql.fetch("select policy ->> 'attempts', policy ->> 'timeout' from cronty.jobs order by number")
    assert [tuple(map(float, row)) for row in rows] == [(3, 60), (3, 5)]


async def test_arguments_that_do_not_fit_are_refused_before_anything_is_stored(url: str, sql: Connection) -> None:
    cronty = shop(url)

    @cronty.task
    async def pay(order: UUID, copies: int = 1) -> None: ...

    async with cronty:
        with pytest.raises(CrontyError, match="UUID") as refused:
            await pay.schedule("in 2 hours", "not-a-uuid")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert refused.value.code == "bad_arguments"
        with pytest.raises(CrontyError) as refused:
            await cronty.schedule_job("by name", "pay", "words", {"text": "in 2 hours"}, ["not-a-uuid"])
        assert refused.value.code == "bad_arguments"
        with pytest.raises(CrontyError) as refused:
            await pay.schedule("at 25:00", uuid4())
        assert refused.value.hint
    assert await sql.fetchval("select count(*) from cronty.jobs") == 0


async def test_a_stored_argument_that_does_not_fit_any_more_fails_for_good(url: str, sql: Connection) -> None:
    cronty = shop(url)

    @cronty.task(retries=5)
    async def pay(order: UUID) -> None: ...

    async with cronty:
        job = await pay.schedule("in 2 hours", uuid4())
        await sql.execute("""update cronty.jobs set arguments = '{"args": ["x"], "kwargs": {}}'""")
        started = await cronty.run_job_now(job.job_id)
        with pytest.raises(TaskFailed, match="its arguments don't fit") as failed:
            await Run[None](cronty, pay.registered, job.job_id, started.run_id).result(timeout=PATIENCE)
    assert failed.value.verdict == "failed"
    assert await sql.fetchval("select attempt from cronty.runs") == 1


async def test_hours_in_code_are_on_the_24_hour_clock(url: str) -> None:
    cronty = shop(url)

    @cronty.task
    async def pay() -> None: ...

    async with cronty:
        assert (await pay.schedule("every weekday at 3:00")).schedule.startswith("At 03:00")
        assert (await pay.schedule("every weekday at 3:00 pm")).schedule.startswith("At 15:00")


async def test_a_result_that_was_not_kept_is_told_and_not_returned(url: str) -> None:
    cronty = shop(url)

    @cronty.task
    async def large() -> str:
        return "a" * 100_000

    @cronty.task
    async def odd() -> bytes:
        return b"\xff\x00"

    async with cronty:
        with pytest.raises(ResultNotKept, match=r"is done, but its result wasn't kept: It is 100,002 bytes of JSON"):
            await (await large.enqueue()).result(PATIENCE)
        with pytest.raises(ResultNotKept, match="a bytes that JSON can't hold"):
            await (await odd.enqueue()).result(PATIENCE)


@pytest.mark.parametrize("delay", [-5, float("nan"), 1e18])
async def test_what_is_no_delay_is_refused(url: str, delay: float) -> None:
    cronty = shop(url)

    @cronty.task
    async def pay() -> None: ...

    async with cronty:
        with pytest.raises(CrontyError, match="is no delay"):
            await pay.options(delay=delay).enqueue()


async def test_a_declared_task_that_needs_arguments_is_refused_at_once(url: str) -> None:
    cronty = shop(url)
    with pytest.raises(CrontyError, match="work can't be called with that"):

        @cronty.every("day at 3:00")
        async def work(topic: str) -> None: ...


# -- declared schedules -------------------------------------------------------------------------------------------


def deployed(url: str, **schedules: str) -> Cronty:
    """A version of a program that declares these schedules."""
    cronty = shop(url)
    for name, when in schedules.items():

        @cronty.every(when, name=name, zone="Europe/Berlin", retries=1)
        async def work() -> None: ...

    return cronty


async def stored(cronty: Cronty) -> dict[str, tuple[str | None, bool]]:
    return {job.name: (job.said, job.paused) for job in (await cronty.list_jobs(limit=100)).jobs}


async def test_schedules_in_code_are_made_changed_and_paused_with_the_program(url: str) -> None:
    async with deployed(url, a="weekday at 3:00", b="day at 4:00") as cronty:
        assert await stored(cronty) == {"a": ("every weekday at 03:00", False), "b": ("every day at 04:00", False)}
        first = {job.name: job.job_id for job in (await cronty.list_jobs()).jobs}
    async with deployed(url, a="weekday at 5:00") as cronty:
        assert await stored(cronty) == {"a": ("every weekday at 05:00", False), "b": ("every day at 04:00", True)}
        assert [step.change for step in await plan(cronty)] == ["same"]
    async with deployed(url, a="weekday at 5:00", b="day at 4:00") as cronty:
        assert await stored(cronty) == {"a": ("every weekday at 05:00", False), "b": ("every day at 04:00", False)}
        jobs = (await cronty.list_jobs()).jobs
        assert {job.name: job.job_id for job in jobs} == first
        assert not any(GONE in job.tags for job in jobs)


async def test_what_was_edited_by_hand_stays_until_the_code_changes(url: str) -> None:
    async with deployed(url, a="weekday at 3:00") as cronty:
        [job] = (await cronty.list_jobs()).jobs
        await cronty.edit_job(job.job_id, trigger_type="words", trigger_config={"text": "every day at 09:00"})
    async with deployed(url, a="weekday at 3:00") as cronty:
        assert [step.change for step in await plan(cronty)] == ["edited"]
        assert await stored(cronty) == {"a": ("every day at 09:00", False)}
    async with deployed(url, a="weekday at 6:00") as cronty:
        assert await stored(cronty) == {"a": ("every weekday at 06:00", False)}


async def test_a_zone_that_leaves_the_code_leaves_the_job(url: str) -> None:
    async with deployed(url, a="weekday at 3:00") as cronty:
        await cronty.set_zone("Asia/Tokyo")
    cronty = shop(url)

    @cronty.every("weekday at 3:00", name="a", retries=1)
    async def work() -> None: ...

    async with cronty:
        [job] = (await cronty.list_jobs()).jobs
        assert (await cronty.job_status(job.job_id)).timezone == "Asia/Tokyo"


async def test_jobs_of_other_programs_and_people_are_left_alone(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with deployed(url, a="weekday at 3:00") as cronty:
        await cronty.schedule_job("mine", "a", "words", {"text": "every day at 09:00"})
        for one in cronty.declared:
            monkeypatch.setattr(one.task.registered.function, "__module__", "elsewhere.jobs")
        [step] = await plan(cronty)
        assert step.change == "new"
        assert await stored(cronty) == {
            "a": ("every weekday at 03:00", False), "mine": ("every day at 09:00", False),
        }  # fmt: skip


async def test_what_was_deleted_by_hand_comes_back_and_what_was_cancelled_when_the_code_changes(url: str) -> None:
    async with deployed(url, a="weekday at 3:00", b="day at 4:00") as cronty:
        for job in (await cronty.list_jobs()).jobs:
            await (cronty.delete_job if job.name == "a" else cronty.cancel_job)(job.job_id)
    async with deployed(url, a="weekday at 3:00", b="day at 4:00") as cronty:
        assert {job.name: job.status for job in (await cronty.list_jobs()).jobs} == {"a": "pending", "b": "cancelled"}
        assert [step.change for step in await plan(cronty)] == ["same", "edited"]
    async with deployed(url, a="weekday at 5:00", b="day at 6:00") as cronty:
        jobs = {(job.name, job.status, job.said) for job in (await cronty.list_jobs()).jobs}
        assert jobs == {
            ("a", "pending", "every weekday at 05:00"), ("b", "pending", "every day at 06:00"),
            ("b", "cancelled", "every day at 04:00"),
        }  # fmt: skip
        assert [step.change for step in await plan(cronty)] == ["same", "same"]


def reporting(url: str, *topics: str, gone: WhenGone = "pause", retries: int = 2) -> Cronty:
    """A version of a program that declares one schedule for each topic."""
    cronty = shop(url)

    @cronty.task(retries=retries)
    async def report(topic: str, pages: int = 1) -> None: ...

    every = [report.options(name=f"{topic} report", max_runs=9).every("monday at 7:00", topic) for topic in topics]
    cronty.schedules(every, gone=gone)
    return cronty


async def test_schedules_of_one_task_with_several_arguments(url: str) -> None:
    async with reporting(url, "sales", "stock") as cronty:
        jobs = (await cronty.list_jobs()).jobs
        assert {job.name for job in jobs} == {"sales report", "stock report"}
        shown = await cronty.job_status(jobs[0].job_id)
        assert (shown.args, shown.max_runs) == ([jobs[0].name.split()[0]], 9)
    async with reporting(url, "sales", "stock", retries=0) as cronty:
        policy = (await cronty.job_status(jobs[0].job_id)).policy
        assert policy is None or "attempts" not in policy
    async with reporting(url, "stock", gone="delete") as cronty:
        assert {job.name for job in (await cronty.list_jobs()).jobs} == {"stock report"}
    async with reporting(url) as cronty:  # the last one is gone too
        [job] = (await cronty.list_jobs()).jobs
        assert job.paused


async def test_two_processes_that_open_at_once_make_each_schedule_once(url: str) -> None:
    schedules = {f"s{number}": "day at 4:00" for number in range(10)}
    programs = [deployed(url, **schedules) for _ in range(3)]
    await asyncio.gather(*(program.__aenter__() for program in programs))
    try:
        assert len((await programs[0].list_jobs(limit=100)).jobs) == 10
    finally:
        for program in programs:
            await program.__aexit__(None, None, None)


# -- tests without a database -------------------------------------------------------------------------------------


async def test_a_task_can_be_performed_in_a_test() -> None:
    cronty = Cronty("postgresql://nowhere/nothing")

    @cronty.task
    async def pay(order: Order) -> Receipt:
        assert isinstance(order, Order)
        return Receipt(order=order.id, paid=order.total, at=current_run().scheduled_for)

    @cronty.task
    def plain(sizes: set[Size]) -> int:
        return len(sizes)

    assert (await perform(pay, ORDER)).paid == Decimal("9.90")
    assert await perform(plain, {Size.SMALL}) == 1
    with pytest.raises(CrontyError):
        await perform(plain, {"huge"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(LookupError):
        current_run()


PROGRAM = """
import asyncio
import sys
from uuid import UUID, uuid4
from cronty import Cronty
from cronty.testing import perform

cronty = Cronty(sys.argv[1])


@cronty.task(retries=3)
async def pay(order: UUID, copies: int = 1) -> list[UUID]:
    return [order] * copies


@cronty.every("weekday at 3:00", zone="Europe/Berlin")
async def nightly() -> None: ...


async def main() -> None:
    order = uuid4()
    assert await perform(pay, order, copies=2) == [order, order]
    async with cronty:
        run = await pay.enqueue(order)
        paid: list[UUID] = await run.result(timeout=60)
        assert paid == [order]
        print([job.name for job in (await cronty.list_jobs()).jobs])


asyncio.run(main())
"""


@pytest.mark.parametrize("checker", [None, "mypy --strict", "basedpyright"])
def test_a_program_passes_both_type_checkers_and_runs(url: str, tmp_path: Path, checker: str | None) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [str(program), url] if checker is None else ["-m", *checker.split(), str(program)]
    ran = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    if checker is None:
        assert "nightly" in ran.stdout
