"""Slots that passed without a run are run later, each for its own planned moment; the chain of slots stays whole."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from asyncpg import Connection

from cronty.actions.current import current_run
from cronty.actions.tasks import Registry
from cronty.contract.answers import Backfill
from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import BackfillJob, ChangeSlot, EditJob
from cronty.contract.result import Err, Ok
from cronty.jobs.backfill import MOST_RUN, NO_ROW, TAKEN, backfilled_in_words
from cronty.jobs.job import Job
from cronty.scheduler import Scheduler
from cronty.scheduler.backfills import Backfills
from cronty.scheduler.calendars import Calendars
from cronty.store.database import Database
from cronty.store.job_store import JobStore
from tests.conftest import TRAIL, HandClock, Hands, add, look
from tests.engine.test_firing import unaccounted

pytestmark = pytest.mark.usefixtures("hands")
ANN = local_caller("ann")
DAY = "2027-03-01"
HOURLY: dict[str, object] = {"expression": "0 * * * *"}


@pytest.fixture
def backfills(database: Database, door: Scheduler) -> Backfills:
    return Backfills(JobStore(database), door.allowance, timedelta(days=90))


@pytest.fixture
async def planned(hands: Hands, registry: Registry) -> list[datetime]:
    """The moments for which the task `look_back` was called."""
    moments: list[datetime] = []

    def look_back() -> None:
        moments.append(current_run().scheduled_for)

    registry.add(look_back)
    await hands.store.publish_tasks(registry.published())
    return moments


def on(hour: int, day: int = 1) -> datetime:
    return datetime(2027, 3, day, hour, tzinfo=UTC)


def of(
    job: Job, since: str = "2027-03-01 09:00", until: str = DAY, *, dry_run: bool = False, **rest: Any
) -> BackfillJob:
    return BackfillJob(str(job.number), since, until, dry_run=dry_run, **rest)


async def ask(backfills: Backfills, request: BackfillJob, caller: Caller = ANN) -> Backfill:
    found = await backfills.backfill(caller, request)
    assert isinstance(found, Ok), found
    return found.value


async def refused(backfills: Backfills, request: BackfillJob, caller: Caller = ANN) -> str:
    found = await backfills.backfill(caller, request)
    assert isinstance(found, Err), found
    return found.code


async def asleep(door: Scheduler, hands: Hands, clock: HandClock, hours: int = 5, **policy: object) -> Job:
    """An hourly job of which no slot but the last was run, because nothing was running."""
    job = await add(door, "cron", HOURLY, task="look_back", policy={"overlap": "allow", **policy})
    clock.advance(hours=hours, minutes=1)
    await hands.all()
    return job


async def verdicts(sql: Connection) -> list[tuple[int, str, int]]:
    rows = await sql.fetch("select scheduled_for, state::text, slots from cronty.runs order by 1")
    return [(row[0].hour, row[1], row[2]) for row in rows]


async def claim_all(hands: Hands, clock: HandClock) -> None:
    clock.advance(minutes=5)
    await hands.claim()


async def test_what_an_outage_cost_is_run_for_its_own_moments_and_only_once(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    job = await asleep(door, hands, clock)
    assert await verdicts(sql) == [(9, "coalesced", 4), (13, "done", 1)]
    found = await ask(backfills, of(job))
    assert (found.runs, found.before, found.left_out) == (4, {"coalesced": 4}, {"done": 1})
    assert (found.first, found.last) == (on(9), on(12))
    await claim_all(hands, clock)
    assert sorted(planned) == [on(9), on(10), on(11), on(12), on(13)]
    assert await unaccounted(sql) == 0
    again = await ask(backfills, of(job))
    assert (again.runs, again.left_out) == (0, {"done": 5})
    await claim_all(hands, clock)
    assert len(planned) == 5
    after = await look(door, job)
    assert (after.run_count, after.manual_count, after.success_count) == (5, 4, 5)


async def test_a_dry_run_changes_nothing(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    job = await asleep(door, hands, clock)
    tables = ("runs", "due", "jobs", "queue", "usage", "audit_unsealed")
    before = [await sql.fetch(f"select * from cronty.{table} order by 1, 2") for table in tables]
    found = await ask(backfills, of(job, dry_run=True))
    assert found.slots == [on(9), on(10), on(11), on(12)]
    assert [await sql.fetch(f"select * from cronty.{table} order by 1, 2") for table in tables] == before
    assert planned == [on(13)]


async def test_a_run_says_who_had_it_run_and_what_had_become_of_it(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    job = await asleep(door, hands, clock)
    await ask(backfills, of(job), replace(ANN, key_number=3))
    await claim_all(hands, clock)
    runs = await door.list_runs(ANN, job.number)
    assert isinstance(runs, Ok)
    stored = runs.value[-1].backfilled
    assert stored is not None
    before = "before that it was coalesced (a later one ran instead)"
    said = f"backfilled by ann with key 3 on Mon 1 Mar 2027 13:01, UTC; {before}"
    assert backfilled_in_words(stored, "UTC") == said
    assert runs.value[0].backfilled is None
    entry = await sql.fetchrow(f"select after::text, actor::text from {TRAIL} where what = 'backfilled'")
    assert entry is not None
    assert orjson.loads(entry["after"])["runs"] == len(planned) - 1 == 4
    assert orjson.loads(entry["actor"])["key_id"] == 3


async def test_a_part_of_a_range_is_run_and_the_rest_keeps_its_verdict(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    """Also where the range is the last row of the chain, whose end moves when the rule changes."""
    job = await add(door, "cron", HOURLY, task="look_back", policy={"overlap": "allow"})
    await door.pause(ANN, job.number)
    clock.advance(hours=6, minutes=1)
    await door.resume(ANN, job.number)
    assert await verdicts(sql) == [(9, "skipped", 6)]
    await ask(backfills, of(job, "2027-03-01 11:00", "2027-03-01 12:00"))
    assert await verdicts(sql) == [(9, "skipped", 2), (11, "waiting", 1), (12, "waiting", 1), (13, "skipped", 2)]
    assert await unaccounted(sql) == 0
    changed = EditJob(str(job.number), trigger_type="interval", trigger_config={"hours": 3})
    assert isinstance(await door.edit(ANN, changed), Ok)
    assert await unaccounted(sql) == 0
    clock.advance(hours=4)
    await hands.all()
    assert sorted(planned)[:2] == [on(11), on(12)]
    assert await unaccounted(sql) == 0


async def test_the_rest_of_a_range_may_begin_in_a_week_in_which_nothing_ran(
    door: Scheduler, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    """A pause of ten weeks is one row, in the first of them; the other weeks have no partition yet."""
    job = await add(door, "cron", {"expression": "0 9 * * 1"}, task="look_back", policy={"overlap": "allow"})
    await door.pause(ANN, job.number)
    clock.advance(days=70)
    await door.resume(ANN, job.number)
    found = await ask(backfills, of(job, "2027-03-15", "2027-03-16"))
    assert (found.runs, found.first) == (1, on(9, 15))
    rows = await sql.fetch("select scheduled_for, state::text, slots from cronty.runs order by 1")
    assert [tuple(row) for row in rows] == [(on(9), "skipped", 2), (on(9, 15), "waiting", 1), (on(9, 22), "skipped", 7)]
    assert await unaccounted(sql) == 0


async def test_slots_from_before_the_job_was_made_are_run_and_do_not_count_against_max_runs(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    job = await add(door, "cron", HOURLY, task="look_back", policy={"overlap": "allow"}, max_runs=2)
    found = await ask(backfills, of(job, "2027-03-01 05:00", "2027-03-01 23:00"))
    assert (found.slots, found.before) == ([on(5), on(6), on(7), on(8)], {NO_ROW: 4})
    assert found.note is not None
    assert "present schedule" in found.note
    await hands.claim()
    await claim_all(hands, clock)
    assert sorted(planned) == found.slots
    for _ in range(3):
        clock.advance(hours=1)
        await hands.all()
    assert sorted(planned)[4:] == [on(9), on(10)]
    assert await unaccounted(sql) == 0


async def test_what_was_run_is_run_again_as_it_was_shown_and_no_more_often(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    job = await add(door, "cron", HOURLY, task="look_back", policy={"overlap": "allow"})
    clock.moment = on(9)
    await hands.all()
    clock.advance(minutes=1)
    assert await refused(backfills, of(job, again=True)) == "bad_time"
    shown = await ask(backfills, of(job, "2027-03-01 09:00", again=True, dry_run=True))
    assert shown.before == {"done": 1}
    for _ in range(2):
        clock.advance(minutes=1)
        await ask(backfills, of(job, "2027-03-01 09:00", again=True, as_of=shown.as_of))
        await claim_all(hands, clock)
    assert planned == [on(9), on(9)]
    kept = await sql.fetch("select attempt, outcome from cronty.attempts")
    assert [tuple(one) for one in kept] == [(1, "done")]
    assert (await look(door, job)).run_count == 1


async def test_runs_that_may_not_overlap_are_run_one_after_the_other_in_order(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    job = await asleep(door, hands, clock, overlap="queue")
    await ask(backfills, of(job))
    assert await sql.fetchval("select count(*) from cronty.queue where due_at is not null") == 1
    await hands.claim()
    assert planned == [on(13), on(9), on(10), on(11), on(12)]


async def test_others_find_a_place_between_backfilled_runs(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    job = await asleep(door, hands, clock)
    await ask(backfills, of(job))
    await hands.claim()
    assert planned == [on(13), on(9)]
    assert await sql.fetchval("select count(distinct due_at) from cronty.queue") == 3


async def test_slots_that_are_due_or_held_are_left_to_the_engine(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime], sql: Connection
) -> None:
    job = await asleep(door, hands, clock)
    clock.advance(hours=3)
    found = await ask(backfills, of(job))
    assert found.last == on(12)
    assert "a worker has yet to decide" in str(found.note)
    await door.pause(ANN, job.number)
    assert (await ask(backfills, of(job, "2027-03-01 14:00"))).runs == 0
    await door.resume(ANN, job.number)
    assert await unaccounted(sql) == 0
    assert planned == [on(13)]


async def test_a_day_off_stays_one(
    door: Scheduler, clock: HandClock, backfills: Backfills, database: Database, sql: Connection
) -> None:
    calendars = Calendars(JobStore(database).calendars, door)
    await calendars.save(ANN, "team", {"days": {"2027-03-02": "Founding Day"}}, None)
    job = await add(door, "calendar", {"rules": [{"times": ["09:00"]}], "calendars": ["team"]})
    await door.pause(ANN, job.number)
    clock.advance(days=3)
    await door.resume(ANN, job.number)
    found = await ask(backfills, of(job, "2027-03-01 09:00", "2027-03-03"))
    assert (found.slots, found.left_out) == ([on(9), on(9, 3)], {TAKEN: 1})
    rows = await sql.fetch("select scheduled_for, state::text from cronty.runs order by 1")
    assert [(row[0].day, row[1]) for row in rows] == [(1, "waiting"), (2, "skipped"), (3, "waiting")]
    assert await unaccounted(sql) == 0


async def test_a_run_that_was_skipped_on_purpose_stays_so(
    door: Scheduler, hands: Hands, clock: HandClock, backfills: Backfills, planned: list[datetime]
) -> None:
    job = await add(door, "cron", HOURLY, task="look_back")
    assert isinstance(await door.change_slot(ANN, ChangeSlot(str(job.number))), Ok)
    for hour in (9, 10):
        clock.moment = on(hour)
        await hands.all()
    await door.edit(ANN, EditJob(str(job.number), name="renamed"))
    assert (await ask(backfills, of(job))).left_out == {TAKEN: 1, "done": 1}
    assert planned == [on(10)]


async def test_a_call_runs_so_many_and_says_where_to_go_on(
    door: Scheduler, clock: HandClock, backfills: Backfills
) -> None:
    job = await add(door, "cron", {"expression": "* * * * *"}, policy={"overlap": "allow"})
    found = await ask(backfills, of(job, "2027-02-28", "2027-03-01"))
    assert (found.runs, found.next_from) == (MOST_RUN, on(0, 1) - timedelta(days=1) + timedelta(minutes=MOST_RUN))
    rest = await ask(backfills, of(job, str(found.next_from), "2027-03-01"))
    assert (rest.runs, rest.next_from) == (24 * 60 + 8 * 60 + 1 - MOST_RUN, None)


async def test_slots_older_than_history_are_left_out(door: Scheduler, backfills: Backfills) -> None:
    job = await add(door, "cron", {"expression": "0 9 * * *"})
    found = await ask(backfills, of(job, "2026-01-01", dry_run=True))
    assert found.runs == 89
    assert "history isn't kept much longer" in str(found.note)


async def test_limits_hold_for_what_is_backfilled(
    door: Scheduler, clock: HandClock, backfills: Backfills, sql: Connection
) -> None:
    await door.allowance.set(ANN, {"runs_per_hour": 10, "wakes_per_hour": 5})
    tasks = await add(door, "cron", HOURLY)
    prompts = await add(door, "cron", HOURLY, task="prompt", args=(), kwargs={"prompt": "Look", "agent": "claude"})
    shown = await ask(backfills, of(tasks, "2027-02-28", dry_run=True))
    assert "33 of the 10 runs that an hour may have." in shown.costs
    assert await refused(backfills, of(tasks, "2027-02-28")) == "over_limit"
    assert await refused(backfills, of(prompts, "2027-03-01")) == "over_limit"
    assert (await ask(backfills, of(prompts, "2027-03-01 04:00"))).runs == 5
    assert await refused(backfills, of(tasks, "2027-03-01 03:00")) == "over_limit"
    assert (await ask(backfills, of(tasks, "2027-03-01 04:00"))).runs == 5
    used = await sql.fetch("select what, used from cronty.usage where what in ('runs', 'wakes claude') order by 1")
    assert [tuple(one) for one in used] == [("runs", 10), ("wakes claude", 5)]


async def test_who_may_not_run_a_job_does_not_backfill_it(door: Scheduler, backfills: Backfills) -> None:
    job = await add(door, "cron", HOURLY)
    prompt = await add(door, "cron", HOURLY, task="prompt", kwargs={"prompt": "Look"})
    no_run = Caller("ann", frozenset({"read", "schedule"}))
    assert await refused(backfills, of(job), no_run) == "missing_scope"
    assert await refused(backfills, of(prompt), Caller("ann", frozenset({"run"}))) == "missing_scope"
    assert await refused(backfills, of(prompt), replace(ANN, agent="claude", surface="rest")) == "not_allowed"
    assert await refused(backfills, of(job), local_caller("bob")) == "not_found"
    await door.cancel(ANN, job.number)
    assert await refused(backfills, of(job)) == "not_editable"


@pytest.mark.parametrize(
    ("since", "until"), [("2027-03-02", "2027-03-03"), ("2027-03-01", "2027-02-01"), ("soon", DAY)]
)
async def test_a_range_that_is_none_is_refused(door: Scheduler, backfills: Backfills, since: str, until: str) -> None:
    job = await add(door, "cron", HOURLY)
    assert await refused(backfills, of(job, since, until)) in ("bad_time", "unreadable")
