"""Engines hear of jobs that are due soon, and not more often than they need to."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.scheduler import Scheduler
from cronty.store.faults import StoreUnavailable
from cronty.store.notices import MARGIN, TOGETHER, Notices
from tests.conftest import START, add
from tests.patience import PATIENCE


class Told:
    """Notices over a clock in the hand, and what was said by themselves."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.away = False
        self.said: list[str] = []
        self.notices = Notices(self._say, lambda: self.seconds)

    async def _say(self, message: str) -> None:
        if self.away:
            raise StoreUnavailable
        self.said.append(message)

    def make(self, due_in: float) -> bool:
        """Make a job; whether the notice goes with it."""
        due = START + timedelta(seconds=self.seconds - 100 + due_in)
        now = START + timedelta(seconds=self.seconds - 100)
        with_it = self.notices.at_once(due, now)
        self.notices.done(due, now, said=with_it)
        return with_it


@pytest.fixture
async def told() -> AsyncGenerator[Told]:
    made = Told()
    yield made
    await made.notices.flush()


async def test_the_first_is_said_with_its_job_and_a_later_one_not_at_all(told: Told) -> None:
    assert [told.make(seconds) for seconds in (1, 1, 2, 20)] == [True, False, False, False]
    await told.notices.flush()
    assert told.said == []
    told.seconds += 0.5
    assert not told.make(0.7), "engines look when the first is due, and see it then"
    await told.notices.flush()
    assert told.said == []


async def test_one_that_is_due_earlier_is_said(told: Told) -> None:
    assert told.make(10)
    told.seconds += 2 * TOGETHER
    assert told.make(2)
    told.seconds += 2 * TOGETHER
    assert not told.make(3)


async def test_a_crowd_of_ever_earlier_ones_is_said_together(told: Told) -> None:
    assert [told.make(seconds) for seconds in (9, 8, 7, 7.5)] == [True, False, False, False]
    await told.notices.flush()
    assert told.said == [f"due {(START + timedelta(seconds=7)).timestamp():.6f}"]
    assert not told.make(7.2), "that was said"
    assert not told.make(6), "that wasn't, but soon will be"
    await told.notices.flush()
    assert len(told.said) == 2


async def test_what_is_committed_just_when_engines_look_is_said(told: Told) -> None:
    assert told.make(1)
    told.seconds += 1 - MARGIN / 2
    assert told.make(1)


async def test_what_is_collected_is_said_without_anybody_asking(told: Told) -> None:
    told.make(5)
    told.make(1)
    async with asyncio.timeout(PATIENCE):
        while not told.said:
            await asyncio.sleep(0.001)


async def test_a_notice_that_cannot_be_said_covers_nothing(told: Told) -> None:
    told.away = True
    told.make(5)
    told.make(1)
    await told.notices.flush()
    told.seconds += 2 * TOGETHER
    assert told.make(2)


async def test_after_a_job_was_changed_the_next_is_said(told: Told) -> None:
    assert told.make(5)
    told.seconds += 2 * TOGETHER
    told.notices.forget()
    assert told.make(6)


async def test_what_engines_look_at_anyway_is_not_said(told: Told) -> None:
    assert not told.make(30)
    assert told.make(29)


@asynccontextmanager
async def listening(sql: asyncpg.Connection) -> AsyncGenerator[list[str]]:
    heard: list[str] = []

    def hear(_connection: object, _pid: int, _channel: str, message: object) -> None:
        heard.append(str(message))

    await sql.add_listener("cronty", hear)
    yield heard


@pytest.mark.usefixtures("hands")
async def test_fifty_jobs_at_once_are_a_handful_of_notices(door: Scheduler, sql: asyncpg.Connection) -> None:
    async with listening(sql) as heard, asyncio.timeout(PATIENCE):
        made = await asyncio.gather(*(add(door, "once", {"run_at": f"in {n} seconds"}) for n in range(50, 0, -1)))
        earliest = min(job.next_slot for job in made if job.next_slot)
        while not any(float(one.removeprefix("due ")) <= earliest.timestamp() for one in heard):
            await sql.execute("select 1")
    assert len(heard) < 25


@pytest.mark.usefixtures("hands")
async def test_a_job_after_one_that_was_cancelled_is_told_of(door: Scheduler, sql: asyncpg.Connection) -> None:
    async with listening(sql) as heard, asyncio.timeout(PATIENCE):
        first = await add(door, "once", {"run_at": "in 5 seconds"})
        assert isinstance(await door.cancel(local_caller("ann"), first.number), Ok)
        second = await add(door, "once", {"run_at": "in 6 seconds"})
        assert second.next_slot is not None
        while f"due {second.next_slot.timestamp():.6f}" not in heard:
            await sql.execute("select 1")
