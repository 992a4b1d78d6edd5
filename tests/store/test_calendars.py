"""Lists of days off: kept by owners, named by schedules, and followed when they change."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from asyncpg import Connection, connect

from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.jobs.limits import Limits
from cronty.scheduler import Scheduler
from cronty.scheduler.calendars import Calendars
from cronty.store.calendar_store import MAX_CALENDARS, CalendarStore
from cronty.store.database import Database
from cronty.store.job_store import JobStore
from cronty.timing import Calendar
from tests.conftest import HandClock, Hands, add, look
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("hands")
ANN = local_caller("ann")
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


async def test_a_schedule_of_a_newer_version_keeps_no_other_job_from_following_its_list(
    door: Scheduler, calendars: Calendars, sql: Connection
) -> None:
    await save(calendars, make_up_days=["2027-06-05"])
    newer, moved = [await add(door, "calendar", {**BY_TEAM, "instead": "next_business_day"}) for _ in range(2)]
    await sql.execute(
        """update cronty.jobs set trigger = jsonb_set(trigger, '{calendars}', '{"any": ["team"]}') where id = $1""",
        newer.id,
    )
    assert await save(calendars, days={"2027-03-01": "Founding Day"}) == 1
    assert (await look(door, moved)).next_slot == datetime(2027, 3, 2, 9, tzinfo=UTC)


async def test_a_list_that_is_not_there_is_refused_with_those_that_are(door: Scheduler, calendars: Calendars) -> None:
    await save(calendars, days={"2027-03-01": "Founding Day"})
    await save(calendars, "other", owner="bob", days={"2027-03-01": "Bob's"})
    for name in ("teem", "other"):
        shown = await door.preview(local_caller("ann"), "calendar", {**BY_TEAM, "calendars": [name]})
        assert isinstance(shown, Err)
        assert (shown.hint or "").lower().endswith("use 'team'.")


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
        "insert into cronty.calendars select owner_id, 'list-' || i, days, updated_at, digest from cronty.calendars,"
        " generate_series(2, $1::int) i",
        MAX_CALENDARS,
    )
    refused = await calendars.save(local_caller("ann"), "one-more", {"days": {"2027-03-01": "x"}}, None)
    assert isinstance(refused, Err)
    assert refused.code == "too_many_calendars"


async def test_a_list_that_a_prompt_goes_by_is_changed_only_with_the_scope_for_prompts(
    door: Scheduler, calendars: Calendars
) -> None:
    await save(calendars, days={"2027-05-01": "Day off"})
    await add(door, "calendar", BY_TEAM, task="prompt", kwargs={"prompt": "Look"})
    scheduling = Caller("ann", frozenset({"read", "schedule"}))
    refused = await calendars.save(scheduling, "team", {"days": {"2027-05-02": "Another"}}, None)
    assert isinstance(refused, Err)
    assert refused.code == "missing_scope"
    await save(calendars, days={"2027-05-02": "Another"})
    assert isinstance(await calendars.save(scheduling, "other", {"days": {"2027-05-02": "Another"}}, None), Ok)


async def test_lists_take_up_room_like_arguments(database: Database) -> None:
    door = Scheduler(JobStore(database), limits=Limits(stored_bytes=2000))
    calendars = Calendars(CalendarStore(database), door)
    days = {f"2027-{month:02}-{day:02}": f"day {month} {day}" for month in range(1, 9) for day in (1, 15)}
    await save(calendars, days=days)
    used = (await door.allowance.show("ann"))["used"]["stored_bytes"]
    assert isinstance(used, int)
    assert used > 100
    many = {f"2027-{month:02}-{day:02}": f"reason {month * day}" for month in range(1, 13) for day in range(1, 28)}
    refused = await calendars.save(local_caller("ann"), "more", {"days": many}, None)
    assert isinstance(refused, Err)
    assert refused.code == "over_limit"
    assert isinstance(
        await door.schedule(local_caller("ann"), ScheduleJob("n", "note", "interval", {"hours": 1}, args=["x" * 1900])),
        Err,
    )


async def test_a_job_holds_the_name_of_a_list_and_not_its_days(
    door: Scheduler, calendars: Calendars, sql: Connection
) -> None:
    await save(calendars, windows=[{"from": "2027-03-01", "through": "2036-03-01", "name": "long"}])
    job = await add(door, "calendar", BY_TEAM)
    assert job.next_run == datetime(2036, 3, 2, 9, tzinfo=UTC)
    await door.edit(local_caller("ann"), EditJob(str(job.number), name="other"))
    await door.edit(local_caller("ann"), EditJob(str(job.number), trigger_config={**BY_TEAM, "ends": "2040-01-01"}))
    longest = await sql.fetchval("select max(length(after::text)) from cronty.audit_unsealed")
    assert longest < 2000
    assert await sql.fetchval("select length(trigger::text) from cronty.jobs") < 200


async def test_a_list_counts_as_it_is_when_a_slot_is_due_however_long_ago_the_job_was_made(
    door: Scheduler, calendars: Calendars, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await save(calendars, days={"2033-03-01": "Far Day"})
    job = await add(door, "calendar", {**BY_TEAM, "rules": [{"times": ["09:00"], "months": [3], "days": [1]}]})
    clock.moment = datetime(2033, 3, 1, 8, tzinfo=UTC)
    await sql.fetchval("select cronty.make_run_partition($1)", clock.moment)
    await door.edit(local_caller("ann"), EditJob(str(job.number), policy={"catch_up": "none"}))
    await hands.all()
    clock.advance(hours=1)
    await hands.all()
    row = await sql.fetchrow("select state::text, reason from cronty.runs where scheduled_for = $1", clock.moment)
    assert row is not None
    assert (row["state"], row["reason"]) == ("skipped", "holiday (Far Day)")


async def test_a_new_day_of_the_list_counts_for_a_slot_that_is_planned_already(
    door: Scheduler, calendars: Calendars, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await save(calendars, days={"2028-01-01": "New Year"})
    await add(door, "calendar", BY_TEAM)
    clock.advance(minutes=30)
    await hands.all()
    await save(calendars, days={"2027-03-01": "Mourning"})
    clock.advance(minutes=30)
    await hands.all()
    assert await sql.fetchval("select reason from cronty.runs") == "holiday (Mourning)"


async def test_a_list_that_a_deleted_job_names_is_kept_for_its_return(door: Scheduler, calendars: Calendars) -> None:
    await save(calendars, days={"2027-03-01": "Founding Day"})
    job = await add(door, "calendar", BY_TEAM)
    await door.delete(local_caller("ann"), job.number)
    refused = await calendars.remove(local_caller("ann"), "team")
    assert isinstance(refused, Err)
    assert "deleted and can come back" in refused.message


async def test_a_job_whose_list_is_gone_is_set_aside_with_the_reason(
    door: Scheduler, calendars: Calendars, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await save(calendars, days={"2028-03-01": "Founding Day"})
    job = await add(door, "calendar", BY_TEAM)
    await sql.execute("delete from cronty.calendars")
    clock.advance(hours=1)
    await hands.all()
    shown = await look(door, job)
    assert shown.state == "set_aside"
    assert "Unknown calendar: 'team'" in (shown.reason or "")


async def test_public_holidays_are_known_by_their_country_and_region(
    door: Scheduler, calendars: Calendars, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    clock.moment = datetime(2027, 12, 25, 8, tzinfo=UTC)
    await sql.fetchval("select cronty.make_run_partition($1)", clock.moment)
    shown = await door.preview(local_caller("ann"), "calendar", {**BY_TEAM, "calendars": ["DE-BY"]}, count=14)
    assert isinstance(shown, Ok)
    notes = {slot.local.day: slot.note for slot in shown.value.slots}
    assert (notes[25], notes[6]) == ("skipped: holiday (Christmas Day)", "skipped: holiday (Epiphany)")
    assert await calendars.list(local_caller("ann")) == Ok([])
    job = await add(door, "calendar", {**BY_TEAM, "calendars": ["DE-BY"]})
    clock.advance(hours=1)
    await hands.all()
    assert await sql.fetchval("select reason from cronty.runs") == "holiday (Christmas Day)"
    listed = await calendars.list(local_caller("ann"))
    assert isinstance(listed, Ok)
    assert [(one.name, (one.source or "").split()[0]) for one in listed.value] == [("de-by", "holidays")]
    assert isinstance((await look(door, job)).trigger, Calendar)


async def test_a_list_of_ones_own_wins_over_the_country_of_its_name(door: Scheduler, calendars: Calendars) -> None:
    job = await add(door, "calendar", {**BY_TEAM, "calendars": ["US"]})
    await save(calendars, "us", days={"2027-03-01": "Us Day"})
    own = await look(door, job)
    assert isinstance(own.trigger, Calendar)
    assert [reason for _, reason in own.trigger.off] == ["holiday (Us Day)"]
    other = await add(door, "calendar", {**BY_TEAM, "calendars": ["US"]})
    assert other.trigger == own.trigger
    refused = await door.preview(local_caller("bob"), "calendar", {**BY_TEAM, "calendars": ["us"]})
    assert isinstance(refused, Err)


async def test_a_country_that_is_not_known_is_refused(door: Scheduler) -> None:
    for name in ("XX", "DE-QQ"):
        refused = await door.preview(local_caller("ann"), "calendar", {**BY_TEAM, "calendars": [name]})
        assert isinstance(refused, Err)
        assert "DE-BY" in (refused.hint or "")


async def test_public_holidays_are_made_anew_each_year_and_their_jobs_follow(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    first: dict[str, object] = {
        "rules": [{"times": ["09:00"], "business_days": [1], "months": [4]}],
        "calendars": ["DE"],
    }
    job = await add(door, "calendar", first)
    assert job.next_slot == datetime(2027, 4, 1, 9, tzinfo=UTC)
    holidays = hands.engine.holidays
    await holidays.step()
    old = await sql.fetchval("select source from cronty.calendars")
    await sql.execute("""update cronty.calendars set source = 'holidays 0.1 2026', digest = 'old',
      days = '{"off": {"2027-04-01": "holiday (x)"}, "on": []}'""")
    await sql.execute("update cronty.due set next_at = '2027-04-02 09:00+00'")
    await holidays.step()
    assert await sql.fetchval("select source from cronty.calendars") == old
    assert (await look(door, job)).next_slot == datetime(2027, 4, 1, 9, tzinfo=UTC)
    clock.moment = datetime(2028, 1, 1, tzinfo=UTC)
    await holidays.step()
    assert await sql.fetchval("select source from cronty.calendars") == (old or "").replace("2027", "2028")
    assert await sql.fetchval("select max(day) from cronty.calendars, jsonb_object_keys(days->'off') day") > "2039"


async def test_jobs_follow_a_list_though_whoever_changed_it_was_stopped_before_they_did(
    door: Scheduler, calendars: Calendars, hands: Hands, url: str, sql: Connection
) -> None:
    await save(calendars, make_up_days=["2027-06-05"])
    own = await add(door, "calendar", {**BY_TEAM, "instead": "next_business_day"})
    public = await add(door, "calendar", {**BY_TEAM, "calendars": ["DE"], "instead": "next_business_day"})
    await sql.execute("""update cronty.calendars set source = 'holidays 0.1 2026', digest = 'old',
      days = '{"off": {"2027-03-01": "holiday (x)"}, "on": []}' where name = 'de'""")
    await sql.execute("update cronty.due set next_at = '2027-03-02 09:00+00' where job_id = $1", public.id)
    holidays = hands.engine.holidays
    other = await connect(url)
    async with other.transaction():
        await other.execute("select from cronty.due for update")
        for change in (save(calendars, days={"2027-03-01": "Founding Day"}), holidays.step()):
            await stop_while_it_waits(asyncio.ensure_future(change), sql)
    await other.close()
    assert (await look(door, own)).next_slot == datetime(2027, 3, 1, 9, tzinfo=UTC)
    assert (await look(door, public)).next_slot == datetime(2027, 3, 2, 9, tzinfo=UTC)
    await holidays.step()
    assert (await look(door, own)).next_slot == datetime(2027, 3, 2, 9, tzinfo=UTC)
    assert (await look(door, public)).next_slot == datetime(2027, 3, 1, 9, tzinfo=UTC)
    assert await sql.fetchval("select count(*) from cronty.calendars where moving") == 0


async def stop_while_it_waits(change: asyncio.Future[Any], sql: Connection) -> None:
    waiting = "select true from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with asyncio.timeout(PATIENCE):
        while not await sql.fetchval(waiting):
            await asyncio.sleep(0.01)
    change.cancel()
    with pytest.raises(asyncio.CancelledError):
        await change


async def test_words_name_a_country(door: Scheduler) -> None:
    words: dict[str, object] = {"text": "every weekday at 9:00 except holidays in Germany"}
    shown = await door.preview(local_caller("ann"), "words", words)
    assert isinstance(shown, Ok)
    assert shown.value.words == "At 09:00 on weekdays, except on days off of DE, UTC"
    job = await add(door, "words", words)
    assert isinstance(job.trigger, Calendar)
    assert (job.trigger.calendars, len(job.trigger.off) > 100) == (("DE",), True)
    edited = await door.edit(
        local_caller("ann"),
        EditJob(str(job.number), trigger_type="words", trigger_config={"text": "every day at 10:00 unless US"}),
    )
    assert isinstance(edited, Ok)
    assert isinstance(edited.value.trigger, Calendar)
    assert edited.value.trigger.calendars == ("US",)
    nowhere = {"text": "every day at 9:00 except holidays in Atlantis"}
    assert isinstance(await door.preview(local_caller("ann"), "words", nowhere), Err)


async def test_an_edit_that_is_refused_keeps_no_list(door: Scheduler, calendars: Calendars) -> None:
    job = await add(door)
    off: dict[str, Any] = {
        "trigger_type": "calendar",
        "trigger_config": {"rules": [{"times": ["09:00"]}], "calendars": ["FR"]},
    }
    prompts = Caller("ann", frozenset({"prompts"}))
    words: dict[str, Any] = {
        "trigger_type": "words",
        "trigger_config": {"text": "every day at 9:00 except on public holidays in France"},
    }
    for caller, refused in (
        (ANN, EditJob("99999", **off)),
        (prompts, EditJob(str(job.number), **off)),
        (ANN, EditJob(str(job.number), **off, policy={"attempts": -1})),
        (ANN, EditJob(str(job.number), **off, expected_version=99)),
        (prompts, EditJob(str(job.number), **words)),
    ):
        assert isinstance(await door.edit(caller, refused), Err)
        assert await calendars.list(ANN) == Ok([]), refused
    assert isinstance(await door.edit(ANN, EditJob(str(job.number), **off)), Ok)
    kept = await calendars.list(ANN)
    assert isinstance(kept, Ok)
    assert [one.name for one in kept.value] == ["fr"]


async def test_of_several_lists_that_are_too_many_none_is_kept(door: Scheduler, calendars: Calendars) -> None:
    for number in range(MAX_CALENDARS - 1):
        await save(calendars, f"list-{number}", days={"2029-01-01": "x"})
    off = {"rules": [{"times": ["09:00"]}], "calendars": ["FR", "DE"]}
    refused = await door.schedule(ANN, ScheduleJob("a", "note", "calendar", off))
    assert isinstance(refused, Err)
    assert refused.code == "too_many_calendars"
    kept = await calendars.list(ANN)
    assert isinstance(kept, Ok)
    assert len(kept.value) == MAX_CALENDARS - 1


async def test_lists_that_are_saved_at_once_are_no_more_than_there_may_be(
    calendars: Calendars, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.store.calendar_store.MAX_CALENDARS", 3)
    await save(calendars, days={"2029-01-01": "x"})
    day = {"days": {"2029-01-01": "x"}}
    saved = await asyncio.gather(*(calendars.save(ANN, f"list-{number}", day, None) for number in range(12)))
    assert sum(isinstance(one, Ok) for one in saved) == 2


async def test_holidays_are_not_computed_for_a_schedule_that_names_too_many_or_for_no_job(door: Scheduler) -> None:
    """An unknown region would be refused by its name, if it were looked for."""
    unknown = "XX-1"
    many = {**BY_TEAM, "calendars": [unknown] * 9}
    refused = await door.schedule(ANN, ScheduleJob("many", "note", "calendar", many))
    assert isinstance(refused, Err)
    assert refused.message == "Too many calendars: 9"
    edit = EditJob("job_9_9", trigger_type="calendar", trigger_config={**BY_TEAM, "calendars": [unknown]})
    missing = await door.edit(ANN, edit)
    assert isinstance(missing, Err)
    assert missing.message == "Job not found: job_9_9"
