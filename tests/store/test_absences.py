"""What the rows tell of a time when nothing was running."""

from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest

from cronty.cli.service_absences import in_words
from cronty.contract.caller import local_caller
from cronty.jobs.run import Absence
from cronty.scheduler import Scheduler
from cronty.scheduler.runs import Runs
from cronty.store.database import Database
from cronty.store.run_store import RunStore
from tests.conftest import START, HandClock, Hands, add
from tests.patience import PATIENCE


@pytest.fixture
def runs(database: Database, door: Scheduler) -> Runs:
    return Runs(RunStore(database), door)


async def test_it_is_told_by_what_became_of_its_slots(
    door: Scheduler, hands: Hands, clock: HandClock, runs: Runs
) -> None:
    await add(door, "interval", {"minutes": 10})
    await add(door, "interval", {"hours": 1}, policy={"catch_up": "none"})
    await add(door, "once", {"run_at": START + timedelta(minutes=30)})
    clock.advance(minutes=10)
    await hands.fire()
    assert await runs.absences(local_caller("ann"), START) == []
    clock.advance(minutes=145)
    await hands.all()
    [away] = await runs.absences(local_caller("ann"), START)
    assert away == Absence(START + timedelta(minutes=20), away.until, late=2, coalesced=13, missed=2)
    assert abs(away.until - clock.moment) < timedelta(seconds=PATIENCE), "less what the last run took"
    assert await runs.absences(local_caller("bob"), START) == []
    assert await runs.absences(local_caller("ann"), clock.moment) == []
    assert (
        in_words(replace(away, until=clock.moment), "UTC")
        == "while it was away, Mon 01 Mar 08:20 to 10:35, UTC: 2 fired late, 13 coalesced, 2 missed"
    )
    assert await runs.tally(local_caller("ann"), START) == {"coalesced": 13, "done": 3, "missed": 2}


async def test_two_of_them_are_told_apart_the_latest_first(
    door: Scheduler, hands: Hands, clock: HandClock, runs: Runs
) -> None:
    await add(door, "interval", {"hours": 1})
    for _ in range(2):
        clock.advance(hours=3, minutes=5)
        await hands.all()
    found = await runs.absences(local_caller("ann"), START)
    assert [(one.late, one.coalesced) for one in found] == [(1, 2), (1, 2)]
    assert found[0].until > found[1].until


async def test_a_run_that_waited_for_the_one_before_it_tells_of_none(
    door: Scheduler, hands: Hands, clock: HandClock, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, "interval", {"minutes": 10})
    clock.advance(minutes=10)
    await hands.fire()
    late = clock.moment + timedelta(minutes=12)
    await sql.execute("update cronty.runs set finished_at = $1 where job_id = $2", late, job.id)
    clock.advance(minutes=13)
    await hands.all()
    assert await runs.absences(local_caller("ann"), START) == []


async def test_of_very_many_late_slots_the_latest_are_counted_and_that_is_said(
    door: Scheduler, hands: Hands, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, "interval", {"hours": 1})
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at)"
        " select id, $1::timestamptz + i * interval '0.1 s', owner_id, 'done', 1, $1::timestamptz + interval '1 hour',"
        " $1::timestamptz + interval '1 hour' from cronty.jobs, generate_series(1, 1500) i where id = $2",
        START,
        job.id,
    )
    [away] = await runs.absences(local_caller("ann"), START)
    assert (away.late, away.cut) == (1000, True)
    assert in_words(away, "UTC") == "while it was away, Mon 01 Mar 08:00 to 09:00, UTC: at least 1000 fired late"
