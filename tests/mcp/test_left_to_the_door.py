"""What PostgreSQL can't keep is no fault beneath the tools either."""

import pytest

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.result import CrontyError, Ok
from cronty.jobs.job import Filter
from cronty.jobs.outcome import Failed
from tests.conftest import HandClock, Hands


async def test_listing_by_a_topic_that_cannot_be_kept_finds_nothing(cronty: Cronty) -> None:
    found = await cronty.service.scheduler.list_jobs(local_caller("ann"), Filter(topic="a\0"))
    assert isinstance(found, Ok)


async def test_reading_for_an_agent_that_cannot_be_kept_finds_nothing(cronty: Cronty) -> None:
    assert await cronty.service.inbox.read(local_caller("ann"), "a\0") == Ok([])


async def test_settling_with_a_report_that_cannot_be_kept_is_no_fault(
    cronty: Cronty, worker: Hands, clock: HandClock
) -> None:
    await cronty.schedule_job("n", "prompt", "interval", {"minutes": 1}, kwargs={"prompt": "look"})
    clock.advance(minutes=1)
    await worker.all()
    read = await cronty.service.inbox.read(local_caller("ann"))
    assert isinstance(read, Ok)
    [item] = read.value
    await cronty.service.inbox.settle(local_caller("ann"), [item.receipt], Failed("a\0"))


async def test_an_end_beyond_the_calendar_is_refused_in_words(cronty: Cronty, worker: Hands) -> None:
    assert worker.engine.worker
    with pytest.raises(CrontyError):
        await cronty.schedule_job("n", "run_backup", "interval", {"hours": 1}, ends_at="9999-12-31T23:59:59-12:00")
