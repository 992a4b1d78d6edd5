"""What a person looks at: slots around now, a job's year, lag, what needs attention, what just happened, who works."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.requests import ChangeSlot
from cronty.contract.result import Err, Ok, value_of
from cronty.jobs.job import Filter
from cronty.jobs.outcome import Done
from cronty.jobs.overview import MAX_DRAWN, Planned, Verdict, bins_of, planned_slots
from cronty.jobs.run import run_id
from cronty.scheduler import Scheduler
from cronty.scheduler import overview as overview_module
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.scheduler.overview import MAX_PLANNED, Overview
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from cronty.store.overview_store import OverviewStore
from cronty.timing import Cron, Interval
from tests.conftest import START, HandClock, Hands, add, look

ANN = local_caller("ann")
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def overview(database: Database, door: Scheduler) -> Overview:
    return Overview(OverviewStore(database), door, "ann")


# -- pure --------------------------------------------------------------------------------------------------------------


def test_planned_slots_of_many_jobs_come_in_order_and_end_where_they_must() -> None:
    jobs = [
        Planned(1, "often", Interval(MINUTE, START), START + MINUTE, None, 3),
        Planned(2, "seldom", Cron("2 * * * *", "UTC"), START + 2 * MINUTE, START + 2 * MINUTE, None),
        Planned(3, "later", Interval(HOUR, START), START + HOUR, None, None),
    ]
    slots = [(slot.job_number, (slot.scheduled_for - START) / MINUTE) for slot in planned_slots(jobs, START + HOUR)]
    assert slots == [(1, 1), (1, 2), (2, 2), (1, 3)]


def test_bins_leave_no_gap_and_the_last_one_may_be_short() -> None:
    counted: list[tuple[datetime, Verdict, int]] = [(START, "done", 2), (START + 25 * MINUTE, "failed", 1)]
    bins = bins_of(START, START + 25 * MINUTE + MINUTE, 10 * MINUTE, counted)
    assert [(bin.start - START) / MINUTE for bin in bins] == [0, 10, 20]
    assert [bin.verdicts for bin in bins] == [{"done": 2}, {}, {"failed": 1}]


# -- the timeline ------------------------------------------------------------------------------------------------------


async def test_the_timeline_shows_what_was_and_what_comes(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    await add(door, config={"hours": 6}, name="six")
    await add(door, task="fail", config={"hours": 12}, name="bad", policy={"attempts": 1})
    await add(door, config={"hours": 1}, name="hers", owner="bob")
    for _ in range(2):
        clock.advance(hours=6)
        await hands.all()
    seen = await overview.timeline(local_caller("ann"))
    assert (seen.now, seen.since, seen.until) == (clock(), clock() - DAY, clock() + DAY)
    assert seen.slots is not None
    assert [(slot.name, (slot.scheduled_for - clock()) / HOUR, slot.verdict) for slot in seen.slots] == [
        ("six", -6, "done"), ("six", 0, "done"), ("bad", 0, "failed"),
        ("six", 6, "planned"), ("six", 12, "planned"), ("bad", 12, "planned"), ("six", 18, "planned"),
    ]  # fmt: skip
    assert seen.slots[2].reason is not None
    assert "no luck" in seen.slots[2].reason
    assert len(seen.bins) == 96
    whole = Counter[str]()
    for bin in seen.bins:
        whole.update(bin.verdicts)
    assert whole == {"done": 2, "failed": 1, "planned": 4}
    assert seen.planned_through == seen.until


async def test_of_too_many_slots_the_timeline_only_counts(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        await add(door, config={"minutes": 1}, name=f"job {number}", policy={"catch_up": "all"})
    clock.advance(minutes=100)
    await hands.all()
    monkeypatch.setattr(overview_module, "MAX_PASSED", 400)
    seen = await overview.timeline(local_caller("ann"))
    assert seen.slots is None
    counted = sum(bin.verdicts.get("done", 0) + bin.verdicts.get("waiting", 0) for bin in seen.bins)
    assert counted == 500
    planned = sum(bin.verdicts.get("planned", 0) for bin in seen.bins)
    assert planned == MAX_PLANNED
    assert clock() < seen.planned_through < seen.until


async def test_jobs_that_come_often_are_counted_apart_and_hide_nobody(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    await add(door, config={"minutes": 10}, name="check", policy={"catch_up": "all"})
    await add(door, config={"hours": 6}, name="seldom")
    clock.advance(hours=6)
    await hands.all()
    seen = await overview.timeline(ANN)
    assert seen.slots is not None
    assert {slot.name for slot in seen.slots} == {"seldom"}
    assert seen.often_jobs == 1
    often = Counter[str]()
    for bin in seen.often:
        often.update(bin.verdicts)
    assert often["planned"] == 143, "the end is left out"
    assert sum(often.values()) == 143 + 36


async def test_very_many_seldom_jobs_are_counted_too(overview: Overview, door: Scheduler, hands: Hands) -> None:
    for number in range(MAX_DRAWN + 1):
        await add(door, config={"hours": 23}, name=f"job {number}")
    assert (await overview.timeline(ANN)).slots is None


# -- a week ------------------------------------------------------------------------------------------------------------


def _days(first: datetime, count: int = 7) -> list[datetime]:
    return [first + number * DAY for number in range(count + 1)]


async def test_a_week_has_what_was_and_what_comes_and_counts_what_comes_often(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    await add(door, "cron", {"expression": "0 10 * * *"}, name="daily", task="prompt", kwargs={"prompt": "?"})
    await add(door, config={"minutes": 30}, name="check", policy={"catch_up": "all"})
    start = clock()
    midnight = start.replace(hour=0)
    clock.advance(hours=3)
    await hands.all()
    week = await overview.week(ANN, _days(midnight))
    seen = [(slot.name, slot.task, (slot.scheduled_for - midnight) / HOUR, slot.verdict) for slot in week.slots]
    assert seen[:2] == [("daily", "prompt", 10, "waiting"), ("daily", "prompt", 34, "planned")]
    assert len(seen) == 7
    [check] = week.often
    assert check.name == "check"
    assert sum(check.bins[0].verdicts.values()) == 2 * (24 - start.hour) - 1
    assert [bin.verdicts for bin in check.bins[1:]] == [{"planned": 48}] * 6
    later = await overview.week(ANN, _days(midnight + 70 * DAY))
    assert [(slot.scheduled_for - midnight) / DAY for slot in later.slots] == [
        70 + number + 10 / 24 for number in range(7)
    ]
    assert not week.cut
    assert (await overview.week(ANN, _days(midnight - 70 * DAY))).slots == []


async def test_a_week_ends_with_its_jobs_and_shows_what_was_moved(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    job = await add(door, config={"hours": 24}, name="three times", max_runs=3)
    assert job.next_slot is not None
    changed = await door.change_slot(ANN, ChangeSlot(str(job.number), None, job.next_slot + HOUR))
    moved = value_of(changed).job
    week = await overview.week(ANN, _days(clock()))
    taken = [slot for slot in week.slots if slot.reason]
    assert [slot.scheduled_for for slot in taken] == [job.next_slot]
    assert [slot.moved_from for slot in week.slots if slot.moved_from] == [job.next_slot]
    assert len(week.slots) - len(taken) == moved.remaining == 3
    assert (await overview.week(ANN, _days(clock() + 21 * DAY))).slots == []


# -- at a glance -------------------------------------------------------------------------------------------------------


async def test_the_latest_verdicts_and_the_counts_of_a_list_are_the_owners(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    good = await add(door, config={"minutes": 10}, name="good")
    bad = await add(door, task="fail", config={"minutes": 10}, name="bad", policy={"attempts": 1})
    asked = await add(door, task="prompt", kwargs={"prompt": "Well?", "agent": "codex"}, config={"minutes": 10})
    held = await add(door, config={"hours": 1}, name="held")
    hers = await add(door, task="fail", config={"minutes": 10}, owner="bob", policy={"attempts": 1})
    await door.pause(ANN, held.number)
    over = await add(door, config={"hours": 1}, name="over")
    await door.cancel(ANN, over.number)
    for _ in range(3):
        clock.advance(minutes=10)
        await hands.all()
    latest = await overview.latest_of(ANN, [good.number, bad.number, asked.number, 999], 2)
    assert {number: [run.verdict for run in runs] for number, runs in latest.items()} == {
        good.number: ["done", "done"], bad.number: ["failed", "failed"], asked.number: ["skipped", "skipped"],
    }  # fmt: skip
    assert await overview.latest_of(ANN, []) == {}
    assert hers.number not in await overview.latest_of(local_caller("cleo"), [hers.number])
    counts = await overview.job_counts(ANN)
    assert (counts.failing, counts.waiting, counts.paused, counts.finished) == (1, 1, 1, 1)
    for health, job in {"failing": bad, "waiting": asked, "paused": held, "finished": over}.items():
        found = value_of(await door.list_jobs(ANN, Filter(health=health)))
        assert [one.number for one in found.jobs] == [job.number], health
    assert await overview.waiting_prompts(ANN) == 1
    assert await overview.waiting_prompts(replace(ANN, agent="codex")) == 1
    assert await overview.waiting_prompts(replace(ANN, agent="claude")) == 0


async def test_a_search_finds_what_a_job_says_too(door: Scheduler, hands: Hands) -> None:
    await add(door, task="prompt", kwargs={"prompt": "Sum up the MARKET"}, name="Digest")
    await add(door, task="prompt", kwargs={"prompt": "Go to market"}, name="Errand")
    await add(door, name="Other")
    found = value_of(await door.list_jobs(ANN, Filter(words="market")))
    assert {one.name for one in found.jobs} == {"Digest", "Errand"}
    assert value_of(await door.list_jobs(ANN, Filter(words="oth"))).total == 1
    assert value_of(await door.list_jobs(ANN, Filter(name="market"))).total == 0


async def test_results_are_the_latest_of_each_job_those_in_words_first(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    number = (await add(door, name="adds", config={"minutes": 10})).number
    asked = await add(door, task="prompt", kwargs={"prompt": "Well?", "agent": "codex"}, config={"minutes": 10})
    clock.advance(minutes=10)
    await hands.all()
    database = overview._store._database  # pyright: ignore[reportPrivateUsage]
    inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
    [item] = value_of(await inbox.read(ANN, "codex"))
    await inbox.settle(ANN, [item.receipt], Done('{"report": "Two need you."}'))
    found = await overview.results(ANN, clock() - DAY)
    assert [(one.job_number, one.agent, one.said, one.is_text) for one in found][:1] == [
        (asked.number, "codex", "Two need you.", True)
    ]
    assert number not in {one.job_number for one in found if one.is_text}
    assert await overview.results(local_caller("bob"), clock() - DAY) == []


async def test_an_empty_agenda_has_an_empty_timeline(overview: Overview) -> None:
    seen = await overview.timeline(local_caller("nobody"))
    assert seen.slots == []
    assert all(bin.verdicts == {} for bin in seen.bins)
    assert (await overview.concerns(local_caller("nobody"))).total == 0
    assert all(lag.p50 is None for lag in await overview.lag(local_caller("nobody")))
    assert await overview.tags(local_caller("nobody")) == {}
    assert await overview.events(local_caller("nobody")) == []


# -- how late, how it went ---------------------------------------------------------------------------------------------


async def test_lag_is_from_the_slot_to_the_first_start(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    await add(door, config={"minutes": 30})
    clock.advance(minutes=30, seconds=4)
    await hands.all()
    clock.advance(minutes=1)
    found = [(lag.p50, lag.p99) for lag in await overview.lag(local_caller("ann")) if lag.p50 is not None]
    assert found == [pytest.approx((4.0, 4.0), abs=0.5)]
    assert len(await overview.lag(local_caller("ann"))) == 48


async def test_a_year_is_told_in_days_of_the_jobs_zone(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    job = await add(door, "cron", {"expression": "30 23 * * *"}, timezone="America/New_York")
    assert job.next_slot is not None
    clock.advance(seconds=(job.next_slot - clock()).total_seconds() + 1)
    await hands.all()
    year = await overview.year(local_caller("ann"), job.number)
    assert isinstance(year, Ok)
    assert len(year.value) == 371
    there = job.next_slot.astimezone(UTC) - timedelta(hours=5)
    assert [day.date for day in year.value if day.verdicts] == [date(there.year, there.month, there.day)]
    assert year.value[-1].verdicts == {"done": 1}
    foreign, missing = (
        await overview.year(local_caller("bob"), job.number),
        await overview.year(local_caller("bob"), 999_999),
    )
    assert isinstance(foreign, Err)
    assert isinstance(missing, Err)
    assert foreign.code == missing.code == "not_found"


async def test_of_a_job_with_very_many_runs_only_the_latest_days_are_told(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await add(door, config={"hours": 6})
    for _ in range(16):
        clock.advance(hours=6)
        await hands.all()
    monkeypatch.setattr(overview_module, "MAX_OF_JOB", 9)
    year = await overview.year(local_caller("ann"), job.number)
    assert isinstance(year, Ok)
    told = [(day.date, day.verdicts) for day in year.value]
    assert told == [(date(2027, 3, 4), {"done": 4}), (date(2027, 3, 5), {"done": 2})], "a day that is half told isn't"


# -- what needs attention ----------------------------------------------------------------------------------------------


async def test_what_fails_is_held_or_overdue_needs_attention(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    failing = await add(door, task="fail", config={"hours": 1}, name="failing", policy={"attempts": 1})
    by_hand = await add(door, name="paused by hand", config={"days": 1})
    held = await add(door, name="held", config={"days": 1})
    aside = await add(door, name="aside", config={"days": 1})
    await door.pause(local_caller("ann"), by_hand.number)
    await door.pause(local_caller("ann"), held.number)
    await sql.execute("update cronty.jobs set reason = 'failed 10 times in a row' where id = $1", held.id)
    await sql.execute("update cronty.jobs set state = 'set_aside', reason = 'no such zone' where id = $1", aside.id)
    await sql.execute("update cronty.due set next_at = null where job_id = $1", aside.id)
    clock.advance(hours=1)
    await hands.all()
    late = await add(door, name="late", config={"minutes": 1})
    clock.advance(minutes=5)
    seen = await overview.concerns(local_caller("ann"))
    assert {(one.job_number, one.kind) for one in seen.items} == {
        (failing.number, "failing"), (held.number, "paused"), (aside.number, "set_aside"), (late.number, "overdue")
    }  # fmt: skip
    assert seen.total == 4
    assert {one.what for one in seen.items if one.kind == "paused"} == {"failed 10 times in a row"}
    assert [one.kind for one in (await overview.concerns(local_caller("ann"), 1)).items] == ["overdue"]
    assert (await overview.concerns(local_caller("ann"), 1)).total == 4
    assert (await overview.concerns(local_caller("bob"))).total == 0


async def test_a_run_that_has_failed_and_is_tried_again_needs_attention_until_it_succeeds(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await add(door, task="fail", config={"days": 1}, policy={"attempts": 3, "backoff": 60})
    clock.advance(days=1)
    await hands.all()
    seen = await overview.concerns(local_caller("ann"))
    assert [(one.kind, one.what) for one in seen.items] == [("retrying", "ValueError: no luck")]
    assert (await look(door, job)).trouble == "Failing, will be tried again: ValueError: no luck"
    assert (await overview.job_counts(local_caller("ann"))).failing == 1
    listed = await door.list_jobs(local_caller("ann"), Filter(health="failing"))
    assert isinstance(listed, Ok)
    assert [one.number for one in listed.value.jobs] == [job.number]
    await sql.execute("update cronty.jobs set task = 'note' where id = $1", job.id)
    await sql.execute("update cronty.queue set task = 'note'")
    clock.advance(minutes=5)
    await hands.all()
    assert (await overview.concerns(local_caller("ann"))).total == 0
    assert (await look(door, job)).trouble is None


async def test_tags_are_counted(overview: Overview, door: Scheduler, hands: Hands) -> None:
    assert hands.engine.worker  # it has published its tasks
    await add(door, tags=["work", "daily"])
    gone = await add(door, tags=["work", "old"])
    await add(door, tags=["work"])
    await door.delete(local_caller("ann"), gone.number)
    assert await overview.tags(local_caller("ann")) == {"work": 2, "daily": 1}


# -- what just happened ------------------------------------------------------------------------------------------------


async def test_events_are_told_once_in_order_and_never_torn_apart(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    jobs = [await add(door, name=f"job {number}") for number in range(5)]
    clock.advance(minutes=1)
    await hands.all()
    await sql.execute("update cronty.runs set started_at = $1, finished_at = $1", clock())
    assert await overview.events(local_caller("ann"), START) == []  # the last half second may still be being written
    clock.advance(seconds=1)
    first = await overview.events(local_caller("ann"), START, limit=2)
    assert {event.run_id for event in first} == {run_id(job.number, START + MINUTE) for job in jobs}
    assert {event.verdict for event in first} == {"done"}
    clock.advance(seconds=60)
    await hands.all()
    clock.advance(seconds=1)
    after = await overview.events(local_caller("ann"), first[-1].at)
    assert {event.scheduled_for for event in after} == {START + 2 * MINUTE}
    assert [event.at for event in after] == sorted(event.at for event in after)
    assert await overview.events(local_caller("ann"), after[-1].at) == []
    assert {event.run_id for event in await overview.events(local_caller("ann"))} == {event.run_id for event in after}
    assert await overview.events(local_caller("bob"), START) == []


# -- the fleet ---------------------------------------------------------------------------------------------------------


async def test_the_fleet_is_told_in_numbers(
    overview: Overview, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    for owner in ("ann", "bob"):
        await add(door, owner=owner)
    await add(door, owner="bob", task="fail", policy={"attempts": 1})
    clock.advance(minutes=1, seconds=2)
    before = value_of(await overview.fleet(ANN))
    assert (before.overdue, before.oldest_overdue) == (3, START + MINUTE)
    await hands.all()
    await hands.engine.lease.beat()
    clock.advance(seconds=5)
    fleet = value_of(await overview.fleet(ANN))
    assert (fleet.overdue, fleet.waiting, fleet.running) == (0, 0, 0)
    assert [bin.verdicts for bin in fleet.throughput if bin.verdicts] == [{"done": 2, "failed": 1}]
    assert [lag.p99 for lag in fleet.lag if lag.p99 is not None] == [pytest.approx(2.0, abs=0.5)]
    assert [(worker.id, worker.alive, worker.running) for worker in fleet.workers] == [(hands.engine.worker, True, 0)]
    clock.advance(hours=1)
    assert [worker.alive for worker in value_of(await overview.fleet(ANN)).workers] == [False]


async def test_the_fleet_is_shown_to_the_operator_and_to_no_other_owners_admin(overview: Overview) -> None:
    for caller in (local_caller("bob"), replace(ANN, scopes=frozenset({"read", "schedule", "run", "prompts"}))):
        refused = await overview.fleet(caller)
        assert isinstance(refused, Err)
        assert refused.code == "not_allowed"
