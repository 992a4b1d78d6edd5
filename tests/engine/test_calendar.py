"""A calendar's slots become runs like any other's."""

from datetime import UTC, datetime, timedelta

import pytest
from asyncpg import Connection

from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Err, Ok
from cronty.scheduler import Scheduler
from cronty.timing import Calendar, CalendarRule
from tests.conftest import START, HandClock, Hands, add, look
from tests.engine.test_firing import states, unaccounted

pytestmark = pytest.mark.usefixtures("hands")
TWICE: dict[str, object] = {"rules": [{"times": ["09:00", "17:30"], "weekdays": ["MO", "TU", "WE", "TH", "FR"]}]}


async def test_a_calendar_fires_at_each_of_its_times(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, "calendar", TWICE)
    fired: list[datetime] = []
    for _ in range(6):
        slot = (await look(door, job)).next_slot
        assert slot is not None
        clock.moment = slot
        await hands.fire()
        fired.append(slot)
    assert len(calls) == 6
    assert {slot.strftime("%H:%M") for slot in fired} == {"09:00", "17:30"}
    assert all(slot.weekday() < 5 for slot in fired)
    assert await states(sql) == [("done", 6)]
    assert await unaccounted(sql) == 0


async def test_a_calendar_that_was_slept_through_catches_up_like_a_cron(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door, "calendar", {"rules": [{"times": ["00:00-23:30/30"]}]})
    clock.advance(hours=100)
    await hands.all()
    assert len(calls) == 1
    counts = dict(await states(sql))
    assert counts["done"] == 1
    assert sum(counts.values()) == 200
    assert await unaccounted(sql) == 0


async def test_a_calendar_ends_with_its_last_day(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    ends = (START + timedelta(days=1)).date().isoformat()
    job = await add(door, "calendar", {"rules": [{"times": ["23:00"]}], "ends": ends})
    clock.advance(days=1)
    await hands.fire()
    assert (await look(door, job)).status == "pending"
    clock.advance(days=1)
    await hands.fire()
    assert (await look(door, job)).status == "completed"


async def test_a_calendar_says_how_many_times_and_its_job_counts(door: Scheduler) -> None:
    said: dict[str, object] = {"rules": [{"times": ["09:00"]}], "count": 10}
    job = await add(door, "calendar", said)
    assert (await look(door, job)).max_runs == 10
    changes = EditJob(str(job.number), trigger_type="calendar", trigger_config=said, max_runs=5)
    refused = await door.edit(local_caller("ann"), changes)
    assert isinstance(refused, Err)
    assert "says 10 times, and max_runs says 5" in refused.message
    edited = await door.edit(local_caller("ann"), EditJob(str(job.number), trigger_config={**said, "count": 3}))
    assert isinstance(edited, Ok)
    assert edited.value.max_runs == 3


async def test_a_calendar_moves_to_another_zone_with_its_job(door: Scheduler) -> None:
    job = await add(door, "calendar", TWICE)
    edited = await door.edit(local_caller("ann"), EditJob(str(job.number), timezone="Asia/Tokyo"))
    assert isinstance(edited, Ok)
    days = (0, 1, 2, 3, 4)
    assert edited.value.trigger == Calendar((CalendarRule((540, 1050), weekdays=days),), "Asia/Tokyo")
    assert edited.value.next_slot == edited.value.trigger.after(START)


async def test_what_a_newer_version_wrote_of_a_calendar_is_kept(door: Scheduler, sql: Connection) -> None:
    job = await add(door, "calendar", TWICE)
    await sql.execute("""update cronty.jobs set trigger = trigger || '{"season": "winter"}'""")
    paused = await door.pause(local_caller("ann"), job.number)
    assert isinstance(paused, Ok)
    assert isinstance(paused.value.trigger, Calendar)
    assert await sql.fetchval("select trigger->>'season' from cronty.jobs") == "winter"


async def test_a_calendar_with_a_rule_that_only_a_newer_version_reads_is_set_aside(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, "calendar", TWICE)
    newer = """{"kind": "calendar", "zone": "UTC", "rules": [{"times": ["09:00"], "moon": "full"}]}"""
    await sql.execute("update cronty.jobs set trigger = $1::text::jsonb", newer)
    slot = (await look(door, job)).next_slot
    assert slot is not None
    clock.moment = slot
    await hands.fire()
    shown = await look(door, job)
    assert (shown.state, calls) == ("set_aside", [])
    assert "moon" in (shown.reason or "")


async def test_a_slot_that_a_day_off_takes_is_skipped_and_says_why(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, "calendar", {"rules": [{"times": ["09:00"]}]})
    off = """{"off": {"2027-03-01": "holiday (Founding Day)"}}"""
    await sql.execute("update cronty.jobs set trigger = trigger || $1::text::jsonb", off)
    assert (await look(door, job)).next_run == datetime(2027, 3, 2, 9, tzinfo=UTC)
    for _ in range(2):
        slot = (await look(door, job)).next_slot
        assert slot is not None
        clock.moment = slot
        await hands.all()
    rows = await sql.fetch("select scheduled_for, state::text, reason from cronty.runs order by 1")
    assert [(row[0].day, row[1], row[2]) for row in rows] == [
        (1, "skipped", "holiday (Founding Day)"),
        (2, "done", None),
    ]
    assert len(calls) == 1
    assert await unaccounted(sql) == 0
