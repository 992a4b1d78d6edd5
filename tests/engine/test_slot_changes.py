"""One slot is skipped or moved, this once: the rule stays, and every planned moment gets its verdict."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asyncpg import Connection

from cronty.contract.caller import local_caller
from cronty.contract.requests import ChangeSlot, EditJob
from cronty.contract.result import Err, Ok
from cronty.jobs.job import Job
from cronty.scheduler import Scheduler
from tests.conftest import HandClock, Hands, add, look
from tests.engine.test_firing import unaccounted

pytestmark = pytest.mark.usefixtures("hands")
ANN = local_caller("ann")
DAILY: dict[str, object] = {"expression": "0 9 * * *"}


def on(day: int, hour: int = 9, minute: int = 0) -> datetime:
    return datetime(2027, 3, day, hour, minute, tzinfo=UTC)


async def change(
    door: Scheduler, job: Job, slot: datetime | str | None = None, to: datetime | str | None = None
) -> Job:
    changed = await door.change_slot(ANN, ChangeSlot(str(job.number), slot, to))
    assert isinstance(changed, Ok), changed
    return changed.value.job


async def refused(door: Scheduler, job: Job, slot: datetime | str | None, to: datetime | str | None = None) -> str:
    found = await door.change_slot(ANN, ChangeSlot(str(job.number), slot, to))
    assert isinstance(found, Err)
    return found.message


async def verdicts(sql: Connection) -> list[tuple[int, int, str, str | None]]:
    rows = await sql.fetch("select scheduled_for, state::text, reason from cronty.runs order by 1")
    return [(row[0].day, row[0].hour, row[1], row[2]) for row in rows]


async def fire_until(door: Scheduler, hands: Hands, clock: HandClock, job: Job, end: datetime) -> None:
    while (slot := (await look(door, job)).next_slot) is not None and slot <= end:
        clock.moment = slot
        await hands.all()


async def test_the_next_run_is_skipped_and_says_who_asked(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await change(door, await add(door, "cron", DAILY))
    assert (job.next_slot, job.next_run) == (on(1), on(2))
    await fire_until(door, hands, clock, job, on(3))
    assert await verdicts(sql) == [
        (1, 9, "skipped", "asked for by ann"),
        (2, 9, "done", None),
        (3, 9, "done", None),
    ]
    assert len(calls) == 2
    assert await unaccounted(sql) == 0


async def test_a_day_names_its_only_run_and_a_clock_a_time_of_the_same_day(door: Scheduler) -> None:
    job = await change(door, await add(door, "cron", DAILY), "2 March 2027", "10:30")
    assert [(each.slot, each.to) for each in job.changes] == [(on(2), on(2, 10, 30))]
    job = await change(door, job, "2027-03-02")
    assert [(each.slot, each.to) for each in job.changes] == [(on(2), None)], "by its day again, though it was moved"
    job = await change(door, job, "tomorrow", "tomorrow")
    assert job.changes == (), "and back"
    twice = await add(door, "cron", {"expression": "0 9,17 * * *"})
    assert await refused(door, twice, "tomorrow") == (
        'Which run? "tomorrow" has several, such as Tue 2 Mar 2027 09:00, UTC and Tue 2 Mar 2027 17:00, UTC.'
    )
    weekly = await add(door, "cron", {"expression": "0 9 * * FRI"})
    assert await refused(door, weekly, "tomorrow") == 'No run of this job is planned for "tomorrow".'


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("cron", DAILY),
        ("interval", {"days": 1}),
        ("calendar", {"rules": [{"times": ["09:00"]}]}),
    ],
)
async def test_a_slot_is_moved_and_its_verdict_says_where(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection, kind: str, config: dict[str, Any]
) -> None:
    if kind == "interval":
        clock.moment = on(1, 9) - timedelta(days=1)
    job = await add(door, kind, config)
    first = job.next_slot
    assert first == on(1)
    job = await change(door, job, on(2), on(2, 11))
    job = await change(door, job, on(4), on(3, 12))
    await fire_until(door, hands, clock, job, on(5))
    assert await verdicts(sql) == [
        (1, 9, "done", None),
        (2, 9, "skipped", "moved to Tue 2 Mar 2027 11:00, UTC by ann"),
        (2, 11, "done", None),
        (3, 9, "done", None),
        (3, 12, "done", None),
        (4, 9, "skipped", "moved to Wed 3 Mar 2027 12:00, UTC by ann"),
        (5, 9, "done", None),
    ]
    assert await unaccounted(sql) == 0


async def test_it_is_asked_which_run_is_moved_if_one_is_planned_on_the_new_day_too(door: Scheduler) -> None:
    job = await add(door, "cron", DAILY)
    said = await refused(door, job, None, on(2, 10))
    assert said == "Which run? The next one is Mon 1 Mar 2027 09:00, UTC, and one is Tue 2 Mar 2027 09:00, UTC."
    assert (await change(door, job, on(2), on(2, 10))).next_slot == on(1)
    weekly = await add(door, "calendar", {"rules": [{"times": ["09:00"], "weekdays": ["TU"]}]}, name="weekly")
    assert (await change(door, weekly, None, on(3, 10))).next_run == on(3, 10), "no run is planned on that day"


async def test_a_slot_moved_ahead_of_the_next_one_is_the_next_one(door: Scheduler) -> None:
    job = await add(door, "cron", DAILY)
    assert (await change(door, job, on(2), on(1, 8, 30))).next_slot == on(1, 8, 30)
    assert (await change(door, job, on(2), on(2))).next_slot == on(1)


async def test_a_change_is_taken_back(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, "cron", DAILY)
    await change(door, job, on(1))
    await change(door, job, on(2), on(2, 11))
    await change(door, job, on(1), on(1))
    job = await change(door, job, on(2, 11), on(2))
    assert job.changes == ()
    assert await sql.fetchval("select trigger ? 'changes' from cronty.jobs") is False
    assert await sql.fetchval("select expression from cronty.due") == "0 9 * * *"
    await fire_until(door, hands, clock, job, on(2))
    assert len(calls) == 2
    told = await sql.fetch("select what from cronty.audit_unsealed order by id")
    assert [row["what"] for row in told][1:] == [
        "slot skipped",
        "slot moved",
        "slot change taken back",
        "slot change taken back",
    ]


async def test_a_change_outlives_other_edits_and_a_pause(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, "cron", DAILY)
    await change(door, job, on(2))
    assert isinstance(await door.edit(ANN, EditJob(str(job.number), name="other")), Ok)
    assert isinstance(await door.pause(ANN, job.number), Ok)
    moved = await change(door, job, on(3), on(3, 10))
    assert (moved.state, moved.held_slot) == ("paused", on(1))
    assert isinstance(await door.resume(ANN, job.number), Ok)
    await fire_until(door, hands, clock, job, on(3, 10))
    assert [(day, hour, state) for day, hour, state, _ in await verdicts(sql)] == [
        (1, 9, "done"),
        (2, 9, "skipped"),
        (3, 9, "skipped"),
        (3, 10, "done"),
    ]
    assert await unaccounted(sql) == 0


async def test_another_rule_knows_nothing_of_the_old_ones_slots(door: Scheduler) -> None:
    job = await change(door, await add(door, "cron", DAILY))
    edited = await door.edit(ANN, EditJob(str(job.number), trigger_config={"expression": "0 10 * * *"}))
    assert isinstance(edited, Ok)
    assert edited.value.changes == ()


async def test_slots_slept_through_keep_their_own_verdicts(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, "cron", DAILY, policy={"catch_up": "all"})
    await change(door, job, on(2))
    await change(door, job, on(3), on(4, 8, 30))
    clock.moment = on(5, 8)
    await hands.all()
    states = [(day, hour, state) for day, hour, state, _ in await verdicts(sql)]
    assert states == [
        (1, 9, "missed"),
        (2, 9, "skipped"),
        (3, 9, "skipped"),
        (4, 8, "done"),
        (4, 9, "done"),
    ]
    assert len(calls) == 2
    assert await unaccounted(sql) == 0


async def test_a_one_off_is_moved_and_then_done(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, "once", {"run_at": on(1).isoformat()})
    await change(door, job, None, on(1, 12))
    await fire_until(door, hands, clock, job, on(2))
    assert (len(calls), (await look(door, job)).status) == (1, "completed")
    other = await add(door, "once", {"run_at": on(2).isoformat()})
    await change(door, other)
    await fire_until(door, hands, clock, other, on(3))
    assert (len(calls), (await look(door, other)).status) == (1, "completed")
    assert await unaccounted(sql) == 0


async def test_a_skipped_run_is_not_counted(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object]
) -> None:
    job = await add(door, "cron", DAILY, max_runs=2)
    await change(door, job)
    await fire_until(door, hands, clock, job, on(9))
    assert len(calls) == 2


async def test_what_cannot_be_changed_is_refused_with_the_reason(door: Scheduler, clock: HandClock) -> None:
    job = await add(door, "cron", DAILY)
    assert "No run of this job is planned for" in await refused(door, job, on(1, 10))
    assert "past" in await refused(door, job, clock.moment - timedelta(days=1))
    assert "past" in await refused(door, job, on(1), clock.moment - timedelta(minutes=1))
    assert "Another run is planned" in await refused(door, job, on(1), on(2))
    assert isinstance(await door.change_slot(ANN, ChangeSlot("99")), Err)
    assert isinstance(await door.change_slot(replace(ANN, owner="bob"), ChangeSlot(str(job.number))), Err)
    await door.cancel(ANN, job.number)
    assert "no run of it is planned" in await refused(door, job, None)


async def test_words_say_which_and_where(door: Scheduler) -> None:
    job = await add(door, "cron", DAILY)
    changed = await change(door, job, "tomorrow at 9am", "tomorrow at 11:00")
    assert [(each.slot, each.to) for each in changed.changes] == [(on(2), on(2, 11))]
