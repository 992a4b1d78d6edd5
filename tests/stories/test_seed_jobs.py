"""Every tool, field and error of the jobs dialect, through the Python face, in real time."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from cronty import Cronty
from cronty.contract.answers import JobDetail, ScheduledJob
from cronty.contract.requests import TriggerType
from cronty.contract.result import CrontyError
from tests.patience import PATIENCE

LISTED = ["job_id", "name", "status", "trigger_type", "next_run", "run_count", "last_run"]
SHOWN = [
    *("job_id", "name", "status", "trigger_type", "created_at"),
    *("last_run", "next_run", "run_count", "max_runs", "error"),
]


@pytest.fixture
async def cronty(url: str) -> AsyncGenerator[Cronty]:
    made = Cronty(url)

    @made.task
    def cleanup_temp_files(folder: str = "/tmp", *, compress: bool = False) -> str:  # pyright: ignore[reportUnusedFunction]
        return f"{folder} {compress}"

    @made.task
    async def run_backup() -> None:  # pyright: ignore[reportUnusedFunction]
        raise RuntimeError("disk full\nwith a second line that only the operator sees")

    async with made:
        yield made


async def until[T](look: Callable[[], Awaitable[T]], good: Callable[[T], bool]) -> T:
    """Look again and again until it is good."""
    async with asyncio.timeout(PATIENCE):
        while not good(seen := await look()):
            await asyncio.sleep(0.02)
    return seen


async def ended(cronty: Cronty, job_id: str) -> JobDetail:
    """The job's status once nothing more is to come."""
    return await until(
        lambda: cronty.job_status(job_id), lambda seen: seen.status in ("completed", "failed", "cancelled")
    )


async def hourly(cronty: Cronty, name: str = "hourly_cleanup", **rest: Any) -> ScheduledJob:
    return await cronty.schedule_job(name, "cleanup_temp_files", "interval", {"hours": 1}, **rest)


def in_an_hour() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()


def soon() -> str:
    return (datetime.now(UTC) + timedelta(seconds=1.5)).isoformat()


# -- schedule_job --------------------------------------------------------------------------------------------------


async def test_the_seeds_own_example(cronty: Cronty) -> None:
    answer = await cronty.schedule_job(
        name="hourly_cleanup",
        task="cleanup_temp_files",
        trigger_type="interval",
        trigger_config={"hours": 1},
        max_runs=24,
    )
    assert [one.name for one in fields(answer)][:4] == ["job_id", "name", "next_run", "status"]
    assert (answer.name, answer.status) == ("hourly_cleanup", "pending")
    word, number, created = answer.job_id.split("_")
    assert (word, number) == ("job", "1")
    assert abs(int(created) - datetime.now(UTC).timestamp()) < 60
    assert answer.next_run is not None
    wait = answer.next_run - datetime.now(UTC)
    assert timedelta(minutes=59) < wait <= timedelta(hours=1)


@pytest.mark.parametrize(
    ("trigger_type", "config"),
    [
        ("interval", {"seconds": 0, "minutes": 0, "hours": 1, "days": 0}),
        ("cron", {"expression": "0 */2 * * *"}),
        ("once", {"run_at": in_an_hour()}),
        ("once", {"run_at": in_an_hour().split("+")[0]}),
    ],
)
async def test_every_trigger_of_the_seed(cronty: Cronty, trigger_type: TriggerType, config: dict[str, object]) -> None:
    answer = await cronty.schedule_job("a job", "cleanup_temp_files", trigger_type, config)
    assert answer.status == "pending"
    assert answer.next_run is not None
    assert answer.next_run.utcoffset() == timedelta(0)
    assert (await cronty.job_status(answer.job_id)).trigger_type == trigger_type


async def test_a_local_time_is_answered_in_its_zone(cronty: Cronty) -> None:
    answer = await cronty.schedule_job(
        "new year", "cleanup_temp_files", "once", {"run_at": "2031-01-01T09:00:00"}, timezone="Europe/Berlin"
    )
    assert answer.next_run is not None
    assert (answer.next_run.isoformat(), answer.timezone) == ("2031-01-01T09:00:00+01:00", "Europe/Berlin")


async def test_an_unknown_task_is_the_error_of_the_seed(cronty: Cronty) -> None:
    with pytest.raises(CrontyError) as refused:
        await cronty.schedule_job("a job", "rm_rf", "interval", {"hours": 1})
    assert (refused.value.code, refused.value.message) == ("unknown_task", "Unknown task: rm_rf")
    assert refused.value.hint == "Registered tasks: cleanup_temp_files, notify, prompt, run_backup, webhook."


@pytest.mark.parametrize("expression", ["every day", "99 * * * *", "* * * *", "", "0 0 31 2 *"])
async def test_a_malformed_cron_is_the_error_of_the_seed(cronty: Cronty, expression: str) -> None:
    with pytest.raises(CrontyError) as refused:
        await cronty.schedule_job("a job", "cleanup_temp_files", "cron", {"expression": expression})
    assert refused.value.message == f"Invalid cron expression: {expression}"
    assert refused.value.hint


@pytest.mark.parametrize(
    "config", [{"hours": -1}, {"hours": 0}, {"hours": 1, "minutes": -1}, {"seconds": "1"}, {"days": None}, {}]
)
async def test_numbers_must_be_positive(cronty: Cronty, config: dict[str, object]) -> None:
    with pytest.raises(CrontyError) as refused:
        await cronty.schedule_job("a job", "cleanup_temp_files", "interval", config)
    assert refused.value.hint
    assert (await cronty.list_jobs()).total == 0


@pytest.mark.parametrize("max_runs", [0, -3])
async def test_max_runs_must_be_positive(cronty: Cronty, max_runs: int) -> None:
    with pytest.raises(CrontyError, match=f"Invalid max_runs: {max_runs}"):
        await hourly(cronty, max_runs=max_runs)


async def test_an_unknown_trigger_type_is_told_the_known_ones(cronty: Cronty) -> None:
    with pytest.raises(CrontyError, match="'once', 'interval', 'cron', 'calendar' or 'words', not 'daily'") as refused:
        await cronty.schedule_job("a job", "cleanup_temp_files", cast("Any", "daily"), {"hours": 1})
    assert refused.value.field == "trigger_type"


async def test_each_call_makes_a_new_job(cronty: Cronty) -> None:
    assert (await hourly(cronty)).job_id != (await hourly(cronty)).job_id


async def test_a_repeated_idempotency_key_does_not(cronty: Cronty) -> None:
    assert await hourly(cronty, idempotency_key="k") == await hourly(cronty, idempotency_key="k")


async def test_arguments_reach_the_task(cronty: Cronty) -> None:
    job = await cronty.schedule_job(
        "a job", "cleanup_temp_files", "once", {"run_at": soon()}, args=["/data"], kwargs={"compress": True}
    )
    shown = await ended(cronty, job.job_id)
    assert shown.status == "completed"
    assert shown.runs[0].result == "/data True"


async def test_max_runs_ends_the_job(cronty: Cronty) -> None:
    job = await cronty.schedule_job("twice", "cleanup_temp_files", "interval", {"seconds": 1}, max_runs=2)
    shown = await ended(cronty, job.job_id)
    assert (shown.status, shown.run_count, shown.max_runs) == ("completed", 2, 2)
    assert shown.next_run is None


# -- list_jobs -----------------------------------------------------------------------------------------------------


async def test_listing_nothing(cronty: Cronty) -> None:
    answer = await cronty.list_jobs()
    assert (answer.jobs, answer.total) == ([], 0)


async def test_listing_has_the_fields_of_the_seed(cronty: Cronty) -> None:
    job = await hourly(cronty)
    answer = await cronty.list_jobs()
    assert [one.name for one in fields(answer)][:2] == ["jobs", "total"]
    [listed] = answer.jobs
    assert [one.name for one in fields(listed)][: len(LISTED)] == LISTED
    assert [getattr(listed, name) for name in LISTED] == [
        *(job.job_id, "hourly_cleanup", "pending", "interval", job.next_run, 0, None)
    ]


async def test_listing_by_every_status(cronty: Cronty) -> None:
    pending = await hourly(cronty, "pending")
    done = await cronty.schedule_job("completed", "cleanup_temp_files", "once", {"run_at": soon()})
    bad = await cronty.schedule_job("failed", "run_backup", "once", {"run_at": soon()})
    off = await hourly(cronty, "cancelled")
    await cronty.cancel_job(off.job_id)
    for job in (done, bad):
        await ended(cronty, job.job_id)
    assert pending.status == "pending"
    for status in ("pending", "completed", "failed", "cancelled"):
        answer = await cronty.list_jobs(status)
        assert [job.name for job in answer.jobs] == [status]
        assert answer.total == 1
    assert (await cronty.list_jobs("running")).total == 0
    assert (await cronty.list_jobs()).total == 4


async def test_an_unknown_status_is_the_error_of_the_seed(cronty: Cronty) -> None:
    with pytest.raises(CrontyError) as refused:
        await cronty.list_jobs("done")
    assert refused.value.message == "Unknown status: done"
    assert refused.value.hint == "Use one of: pending, running, completed, failed, cancelled."


async def test_total_counts_all_matches_and_not_only_the_page(cronty: Cronty) -> None:
    for number in range(3):
        await hourly(cronty, f"job {number}")
    first = await cronty.list_jobs(limit=2)
    assert (len(first.jobs), first.total) == (2, 3)
    rest = await cronty.list_jobs(limit=2, cursor=first.cursor)
    assert (len(rest.jobs), rest.total, rest.cursor) == (1, 3, None)


# -- cancel_job ----------------------------------------------------------------------------------------------------


async def test_cancelling_a_job(cronty: Cronty) -> None:
    job_id = (await hourly(cronty)).job_id
    assert (await cronty.cancel_job(job_id)).status == "cancelled"
    shown = await cronty.job_status(job_id)
    assert (shown.status, shown.next_run) == ("cancelled", None)
    assert (await cronty.cancel_job(job_id)).status == "cancelled"


@pytest.mark.parametrize("job_id", ["job_99_1738764000", "scd_nonexistent", "", "no such thing"])
async def test_cancelling_an_unknown_job_is_refused(cronty: Cronty, job_id: str) -> None:
    with pytest.raises(CrontyError) as refused:
        await cronty.cancel_job(job_id)
    assert (refused.value.code, refused.value.message) == ("not_found", f"Job not found: {job_id}")


async def test_cancelling_a_finished_job_answers_true_and_does_not_rewrite_its_status(cronty: Cronty) -> None:
    job = await cronty.schedule_job("a job", "cleanup_temp_files", "once", {"run_at": soon()})
    job_id = job.job_id
    await ended(cronty, job_id)
    assert (await cronty.cancel_job(job_id)).status == "completed"
    assert (await cronty.job_status(job_id)).status == "completed"


async def test_a_caller_cannot_cancel_somebody_elses_job(cronty: Cronty, url: str) -> None:
    job_id = (await hourly(cronty)).job_id
    async with Cronty(url, owner="mallory", run_jobs=False) as mallory:
        for call in (mallory.cancel_job, mallory.job_status):
            with pytest.raises(CrontyError, match=f"Job not found: {job_id}"):
                await call(job_id)
    assert (await cronty.job_status(job_id)).status == "pending"


# -- job_status ----------------------------------------------------------------------------------------------------


async def test_status_has_the_fields_of_the_seed(cronty: Cronty) -> None:
    job = await hourly(cronty, max_runs=24)
    shown = await cronty.job_status(job.job_id)
    assert [one.name for one in fields(shown)][: len(SHOWN)] == SHOWN
    assert [getattr(shown, name) for name in SHOWN if name != "created_at"] == [
        *(job.job_id, "hourly_cleanup", "pending", "interval", None, job.next_run, 0, 24, None)
    ]
    assert shown.created_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("job_id", ["job_99_1738764000", "nonsense"])
async def test_the_status_of_an_unknown_job_is_the_error_of_the_seed(cronty: Cronty, job_id: str) -> None:
    with pytest.raises(CrontyError) as refused:
        await cronty.job_status(job_id)
    assert refused.value.message == f"Job not found: {job_id}"
    assert refused.value.hint


async def test_an_error_is_one_line_and_never_a_trace(cronty: Cronty) -> None:
    job = await cronty.schedule_job("nightly_backup", "run_backup", "once", {"run_at": soon()})
    shown = await ended(cronty, job.job_id)
    assert (shown.status, shown.error) == ("failed", "RuntimeError: disk full")
    assert shown.run_count == 1
    assert shown.last_run is not None
    assert "second line" not in str(shown)


async def test_a_recurring_job_is_pending_after_a_failure_with_its_error(cronty: Cronty) -> None:
    job = await cronty.schedule_job("nightly", "run_backup", "interval", {"hours": 1})
    job_id = job.job_id
    await cronty.run_job_now(job_id)
    shown = await until(lambda: cronty.job_status(job_id), lambda seen: seen.error is not None)
    assert (shown.status, shown.error) == ("pending", "RuntimeError: disk full")
