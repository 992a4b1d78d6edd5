"""Lists of days off: kept by owners, named by schedules, and followed when they change."""

from datetime import UTC, datetime
from typing import Any

import pytest
from asyncpg import Connection

from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Err, Ok
from cronty.scheduler import Scheduler
from cronty.scheduler.calendars import Calendars
from cronty.store.calendar_store import MOST_CALENDARS, CalendarStore
from cronty.store.database import Database
from cronty.timing import Calendar
from tests.conftest import HandClock, Hands, add, look

pytestmark = pytest.mark.usefixtures("hands")
BY_TEAM: dict[str, object] = {"rules": [{"times": ["09:00"]}], "calendars": ["team"]}


@pytest.fixture
def calendars(database: Database, door: Scheduler) -> Calendars:
    return Calendars(CalendarStore(database), door)


async def save(calendars: Calendars, name: str = "team", owner: str = "ann", **days: Any) -> int:
    saved = await calendars.save(local_caller(owner), name, days, None)
    assert isinstance(saved, Ok), saved
    return saved.value[1]


async def test_a_slot_on_a_day_of_the_list_is_skipped_by_its_name(
    door: Scheduler, calendars: Calendars, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await save(calendars, days={"2027-03-01": "Founding Day"})
    await add(door, "calendar", BY_TEAM)
    clock.advance(hours=1)
    await hands.all()
    row = await sql.fetchrow("select state::text, reason from cronty.runs")
    assert row is not None
    assert (row["state"], row["reason"]) == ("skipped", "holiday (Founding Day)")


async def test_a_list_that_changes_takes_its_jobs_along(door: Scheduler, calendars: Calendars, sql: Connection) -> None:
    await save(calendars, make_up_days=["2027-06-05"])
    moved = await add(door, "calendar", {**BY_TEAM, "instead": "next_business_day"})
    paused = await add(door, "calendar", {**BY_TEAM, "instead": "next_business_day"})
    await door.pause(local_caller("ann"), paused.number)
    await add(door, "calendar", {"rules": [{"times": ["09:00"]}]})
    assert moved.next_slot == datetime(2027, 3, 1, 9, tzinfo=UTC)
    assert await save(calendars, days={"2027-03-01": "Founding Day"}) == 2
    assert (await look(door, moved)).next_slot == datetime(2027, 3, 2, 9, tzinfo=UTC)
    assert (await look(door, paused)).held_slot == datetime(2027, 3, 2, 9, tzinfo=UTC)
    assert await save(calendars, days={"2027-03-01": "Founding Day"}) == 0
    told = await sql.fetchval("select count(*) from cronty.audit_unsealed where what = 'moved by a changed calendar'")
    assert told == 2


async def test_a_list_that_is_not_there_is_refused_with_those_that_are(door: Scheduler, calendars: Calendars) -> None:
    await save(calendars, days={"2027-03-01": "Founding Day"})
    await save(calendars, "other", owner="bob", days={"2027-03-01": "Bob's"})
    for name in ("teem", "other"):
        shown = await door.preview(local_caller("ann"), "calendar", {**BY_TEAM, "calendars": [name]})
        assert isinstance(shown, Err)
        assert shown.hint == "Use 'team'."


async def test_a_preview_and_an_edit_know_the_list(door: Scheduler, calendars: Calendars) -> None:
    await save(calendars, windows=[{"from": "2027-03-01", "through": "2027-03-03", "name": "Release"}])
    shown = await door.preview(local_caller("ann"), "calendar", BY_TEAM, count=4)
    assert isinstance(shown, Ok)
    assert [slot.note for slot in shown.value.slots] == ["skipped: freeze (Release)"] * 3 + [None]
    job = await add(door, "calendar", {"rules": [{"times": ["09:00"]}]})
    edited = await door.edit(local_caller("ann"), EditJob(str(job.number), trigger_config=BY_TEAM))
    assert isinstance(edited, Ok)
    assert isinstance(edited.value.trigger, Calendar)
    assert edited.value.next_run == datetime(2027, 3, 4, 9, tzinfo=UTC)


async def test_lists_are_listed_and_removed_unless_a_job_goes_by_them(door: Scheduler, calendars: Calendars) -> None:
    await save(calendars, days={"2027-03-01": "Founding Day"})
    await save(calendars, "spare", make_up_days=["2027-06-05"])
    job = await add(door, "calendar", BY_TEAM)
    refused = await calendars.remove(local_caller("ann"), "team")
    assert isinstance(refused, Err)
    assert refused.code == "calendar_in_use"
    assert await calendars.remove(local_caller("ann"), "spare") == Ok(None)
    await door.cancel(local_caller("ann"), job.number)
    assert await calendars.remove(local_caller("ann"), "team") == Ok(None)
    assert await calendars.list(local_caller("ann")) == Ok([])
    assert isinstance(await calendars.remove(local_caller("ann"), "team"), Err)


async def test_a_list_comes_from_a_file(calendars: Calendars) -> None:
    event = "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20271225\nSUMMARY:Christmas\nEND:VEVENT"
    saved = await calendars.save(local_caller("ann"), "file", {"make_up_days": ["2027-12-25"]}, event)
    assert isinstance(saved, Ok)
    assert (len(saved.value[0].days.off), len(saved.value[0].days.on)) == (1, 1)


async def test_a_list_that_cannot_be_kept_is_refused(calendars: Calendars, sql: Connection) -> None:
    for name, days in (("Team Days", {"days": {"2027-03-01": "x"}}), ("team", {}), ("team", {"days": {"soon": "x"}})):
        assert isinstance(await calendars.save(local_caller("ann"), name, days, None), Err)
    await save(calendars, days={"2027-03-01": "x"})
    await sql.execute(
        "insert into cronty.calendars select owner_id, 'list-' || i, days, updated_at from cronty.calendars,"
        " generate_series(2, $1::int) i",
        MOST_CALENDARS,
    )
    refused = await calendars.save(local_caller("ann"), "one-more", {"days": {"2027-03-01": "x"}}, None)
    assert isinstance(refused, Err)
    assert refused.code == "too_many_calendars"
