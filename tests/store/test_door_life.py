"""Pausing, resuming, cancelling, deleting and running now, through the door."""

import threading
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Job
from cronty.jobs.run import Run
from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add, hands_of
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("hands")

MINUTE = timedelta(minutes=1)


def good[T](result: Result[T]) -> T:
    assert isinstance(result, Ok), result
    return result.value


async def runs_of(door: Scheduler, job: Job) -> list[Run]:
    """The runs of a job, oldest first."""
    return good(await door.list_runs(local_caller("ann"), job.number))[::-1]


async def states_of(door: Scheduler, job: Job) -> list[str]:
    return [run.state for run in await runs_of(door, job)]


async def unexplained(sql: Connection) -> list[dict[str, object]]:
    return [dict(row) for row in await sql.fetch("select * from cronty.slots_unaccounted")]


async def fire_every_minute(hands: Hands, clock: HandClock, times: int) -> None:
    for _ in range(times):
        clock.advance(minutes=1)
        await hands.fire()


class Slow:
    """A worker whose task `slow` ends when told, well or badly."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands
        self.go = threading.Event()
        self.fails = False
        self.calls = 0

    def slow(self) -> None:
        self.calls += 1
        assert self.go.wait(PATIENCE)
        if self.fails:
            raise ValueError("no luck")


@pytest.fixture
async def slow(url: str, clock: HandClock) -> AsyncGenerator[Slow]:
    registry = Registry()
    async with hands_of(url, clock, registry) as hands:
        made = Slow(hands)
        registry.add(made.slow)
        await hands.store.publish_tasks(registry.published())
        yield made
        made.go.set()
        await hands.finish()


# -- pause and resume ----------------------------------------------------------------------------------------------


async def test_a_paused_job_does_not_fire(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door)
    paused = good(await door.pause(local_caller("ann"), job.number))
    assert (paused.state, paused.status, paused.next_slot) == ("paused", "pending", None)
    await fire_every_minute(hands, clock, 3)
    assert await runs_of(door, job) == []


async def test_what_was_slept_through_is_one_row_that_says_why(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await fire_every_minute(hands, clock, 1)
    await door.pause(local_caller("ann"), job.number)
    clock.advance(minutes=10, seconds=30)
    resumed = good(await door.resume(local_caller("ann"), job.number))
    assert (resumed.state, resumed.next_slot) == ("active", START + 12 * MINUTE)
    _, slept = await runs_of(door, job)
    assert (slept.state, slept.reason, slept.slots) == ("skipped", "the job was paused", 10)
    assert (slept.scheduled_for, slept.through) == (START + 2 * MINUTE, START + 11 * MINUTE)
    assert await unexplained(sql) == []


async def test_a_resumed_job_goes_on_with_its_rule(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, "cron", {"expression": "*/5 * * * *"})
    await door.pause(local_caller("ann"), job.number)
    clock.advance(minutes=12)
    await door.resume(local_caller("ann"), job.number)
    clock.moment = START + 15 * MINUTE
    await hands.fire()
    assert await states_of(door, job) == ["skipped", "done"]
    assert good(await door.show(local_caller("ann"), job.number)).next_slot == START + 20 * MINUTE
    assert await unexplained(sql) == []


async def test_a_pause_without_a_slot_leaves_no_trace(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await fire_every_minute(hands, clock, 1)
    await door.pause(local_caller("ann"), job.number)
    clock.advance(seconds=30)
    assert good(await door.resume(local_caller("ann"), job.number)).next_slot == START + 2 * MINUTE
    await fire_every_minute(hands, clock, 1)
    assert await states_of(door, job) == ["done", "done"]
    assert await unexplained(sql) == []


async def test_pausing_and_resuming_can_be_repeated(door: Scheduler) -> None:
    job = await add(door)
    paused = good(await door.pause(local_caller("ann"), job.number))
    assert await door.pause(local_caller("ann"), job.number) == Ok(paused)
    resumed = good(await door.resume(local_caller("ann"), job.number))
    assert await door.resume(local_caller("ann"), job.number) == Ok(resumed)
    assert resumed.next_slot == job.next_slot


async def test_a_one_off_whose_time_passed_in_a_pause_has_failed_and_says_so(
    door: Scheduler, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, "once", {"run_at": START + MINUTE})
    await door.pause(local_caller("ann"), job.number)
    clock.advance(hours=1)
    resumed = good(await door.resume(local_caller("ann"), job.number))
    assert (resumed.status, resumed.next_slot) == ("failed", None)
    assert resumed.last_error == "skipped: the job was paused when its time came"
    assert await states_of(door, job) == ["skipped"]
    assert await unexplained(sql) == []


async def test_a_job_whose_end_passed_in_a_pause_is_over(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, ends_at=START + 5 * MINUTE)
    await fire_every_minute(hands, clock, 1)
    await door.pause(local_caller("ann"), job.number)
    clock.advance(hours=1)
    resumed = good(await door.resume(local_caller("ann"), job.number))
    assert (resumed.next_slot, resumed.status) == (None, "completed")
    _, slept = await runs_of(door, job)
    assert (slept.slots, slept.through) == (4, START + 5 * MINUTE)
    assert await unexplained(sql) == []


async def test_there_is_nothing_to_pause_or_resume_in_a_job_that_was_cancelled(door: Scheduler) -> None:
    job = await add(door)
    await door.cancel(local_caller("ann"), job.number)
    for refused in (
        await door.pause(local_caller("ann"), job.number),
        await door.resume(local_caller("ann"), job.number),
    ):
        assert isinstance(refused, Err)
        assert refused.code == "not_editable"
        assert "is cancelled" in refused.message


async def test_there_is_nothing_to_pause_in_a_job_that_has_completed(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    job = await add(door, max_runs=1)
    await fire_every_minute(hands, clock, 1)
    refused = await door.pause(local_caller("ann"), job.number)
    assert isinstance(refused, Err)
    assert "is completed" in refused.message


# -- cancel --------------------------------------------------------------------------------------------------------


async def test_a_cancelled_job_fires_no_more_and_stays_listed(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await fire_every_minute(hands, clock, 1)
    cancelled = good(await door.cancel(local_caller("ann"), job.number))
    assert (cancelled.status, cancelled.next_slot) == ("cancelled", None)
    await fire_every_minute(hands, clock, 3)
    assert await states_of(door, job) == ["done"]
    assert good(await door.list_jobs(local_caller("ann"))).total == 1
    assert await unexplained(sql) == []


async def test_cancelling_can_be_repeated(door: Scheduler) -> None:
    job = await add(door)
    cancelled = good(await door.cancel(local_caller("ann"), job.number))
    assert await door.cancel(local_caller("ann"), job.number) == Ok(cancelled)


@pytest.mark.parametrize(("task", "final"), [("note", "completed"), ("fail", "failed")])
async def test_a_final_status_is_not_rewritten(
    door: Scheduler, hands: Hands, clock: HandClock, task: str, final: str
) -> None:
    job = await add(door, task=task, max_runs=1)
    await fire_every_minute(hands, clock, 1)
    ended = good(await door.show(local_caller("ann"), job.number))
    assert await door.cancel(local_caller("ann"), job.number) == Ok(ended)
    assert ended.status == final


async def test_slots_that_were_due_and_not_fired_are_cancelled_with_the_job(
    door: Scheduler, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    clock.advance(minutes=3, seconds=30)
    await door.cancel(local_caller("ann"), job.number)
    [run] = await runs_of(door, job)
    assert (run.state, run.slots, run.reason) == ("cancelled", 3, "cancelled before it was fired")
    assert await unexplained(sql) == []


async def test_a_paused_job_that_is_cancelled_explains_what_it_slept_through(
    door: Scheduler, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await door.pause(local_caller("ann"), job.number)
    clock.advance(minutes=3, seconds=30)
    assert good(await door.cancel(local_caller("ann"), job.number)).status == "cancelled"
    [run] = await runs_of(door, job)
    assert (run.state, run.slots, run.reason) == ("skipped", 3, "the job was paused")
    assert await unexplained(sql) == []


async def test_runs_that_wait_are_cancelled_with_the_job(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, task="prompt", policy={"overlap": "queue"})  # prompts wait for an agent
    await fire_every_minute(hands, clock, 2)
    assert await states_of(door, job) == ["waiting", "waiting"]
    cancelled = good(await door.cancel(local_caller("ann"), job.number))
    assert [(run.state, run.reason) for run in await runs_of(door, job)] == [("cancelled", "the job was cancelled")] * 2
    assert (cancelled.in_flight, cancelled.cancelled_count, cancelled.success_count) == (0, 2, 0)
    assert await sql.fetchval("select count(*) from cronty.queue") == 0
    assert await unexplained(sql) == []


async def test_a_retry_that_waits_is_cancelled_with_the_job(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, task="fail", policy={"attempts": 3})
    await fire_every_minute(hands, clock, 1)
    await door.cancel(local_caller("ann"), job.number)
    await fire_every_minute(hands, clock, 3)
    await hands.claim()
    assert await states_of(door, job) == ["cancelled"]
    assert await sql.fetchval("select count(*) from cronty.attempts") == 1


async def test_a_run_that_runs_is_asked_to_stop(door: Scheduler, slow: Slow, clock: HandClock, sql: Connection) -> None:
    job = await add(door, task="slow")
    clock.advance(minutes=1)
    await slow.hands.engine.firing.step(slow.hands.engine.worker)
    assert good(await door.cancel(local_caller("ann"), job.number)).status == "cancelled"
    [request] = await sql.fetch("select job_id, scheduled_for from cronty.stop_requests")
    assert tuple(request) == (job.id, START + MINUTE)
    await slow.hands.engine.lease.beat()
    await slow.hands.finish()
    [run] = await runs_of(door, job)
    assert (run.state, run.reason) == ("cancelled", "the job was cancelled")


@pytest.mark.parametrize("end", ["cancel", "delete"])
async def test_a_run_that_fails_before_it_hears_of_the_end_is_not_tried_again(
    door: Scheduler, slow: Slow, clock: HandClock, sql: Connection, end: str
) -> None:
    job = await add(door, task="slow", policy={"attempts": 3})
    clock.advance(minutes=1)
    await slow.hands.engine.firing.step(slow.hands.engine.worker)
    await (
        door.cancel(local_caller("ann"), job.number)
        if end == "cancel"
        else door.delete(local_caller("ann"), job.number)
    )
    slow.fails = True
    slow.go.set()
    await slow.hands.finish()
    clock.advance(hours=1)
    await slow.hands.all()
    assert slow.calls == 1
    assert await sql.fetchval("select count(*) from cronty.queue") == 0


async def test_a_run_rescued_after_its_job_was_cancelled_is_not_tried_again(
    door: Scheduler, slow: Slow, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, task="slow")
    clock.advance(minutes=1)
    await slow.hands.engine.firing.step(slow.hands.engine.worker)
    await door.cancel(local_caller("ann"), job.number)
    await hands.outlive(clock)  # to everybody else its worker is dead
    assert await states_of(door, job) == ["cancelled"]
    assert await sql.fetchval("select count(*) from cronty.queue") == 0


# -- delete --------------------------------------------------------------------------------------------------------


async def test_a_deleted_job_is_hidden_for_good(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door)
    assert await door.delete(local_caller("ann"), job.number) == Ok(None)
    gone = await door.show(local_caller("ann"), job.number)
    assert isinstance(gone, Err)
    assert gone.code == "not_found"
    for answer in (
        await door.delete(local_caller("ann"), job.number),
        await door.edit(local_caller("ann"), EditJob(str(job.number), name="new")),
        await door.pause(local_caller("ann"), job.number),
        await door.resume(local_caller("ann"), job.number),
        await door.cancel(local_caller("ann"), job.number),
        await door.run_now(local_caller("ann"), job.number),
        await door.list_runs(local_caller("ann"), job.number),
    ):
        assert answer == gone
    assert good(await door.list_jobs(local_caller("ann"))).total == 0
    await fire_every_minute(hands, clock, 2)


async def test_the_runs_of_a_deleted_job_are_kept(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await door.delete(local_caller("ann"), (await add(door, name="never run")).number)
    job = await add(door)
    await fire_every_minute(hands, clock, 2)
    await door.delete(local_caller("ann"), job.number)
    await fire_every_minute(hands, clock, 2)
    rows = await sql.fetch("select job_id, state from cronty.runs")
    assert [tuple(row) for row in rows] == [(job.id, "done")] * 2
    assert await unexplained(sql) == []


async def test_deleting_a_job_frees_its_key(door: Scheduler) -> None:
    first = await add(door, idempotency_key="k")
    await door.delete(local_caller("ann"), first.number)
    assert (await add(door, idempotency_key="k")).number != first.number


@pytest.mark.parametrize("before", ["pause", "cancel", "complete"])
async def test_a_job_can_be_deleted_whatever_its_state(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection, before: str
) -> None:
    job = await add(door, max_runs=1 if before == "complete" else None)
    await fire_every_minute(hands, clock, 1)
    if before != "complete":
        await (
            door.pause(local_caller("ann"), job.number)
            if before == "pause"
            else door.cancel(local_caller("ann"), job.number)
        )
    clock.advance(minutes=5, seconds=30)
    assert await door.delete(local_caller("ann"), job.number) == Ok(None)
    assert await unexplained(sql) == []


async def test_runs_that_wait_are_cancelled_when_their_job_is_deleted(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, task="prompt")
    await fire_every_minute(hands, clock, 1)
    await door.delete(local_caller("ann"), job.number)
    assert await sql.fetchval("select reason from cronty.runs where state = 'cancelled'") == "the job was deleted"
    assert await sql.fetchval("select count(*) from cronty.queue") == 0


# -- run now -------------------------------------------------------------------------------------------------------


async def test_a_job_runs_now_beside_its_schedule(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, args=("hello",))
    clock.advance(seconds=30)
    run_id = good(await door.run_now(local_caller("ann"), job.number)).run_id
    await hands.claim()
    assert calls == [("hello",)]
    [run] = await runs_of(door, job)
    assert (run.run_id, run.manual, run.reason, run.state) == (run_id, True, "asked for", "done")
    assert good(await door.show(local_caller("ann"), job.number)).next_slot == START + MINUTE
    clock.advance(seconds=30)
    await hands.fire()
    assert await states_of(door, job) == ["done", "done"]
    assert await unexplained(sql) == []


async def test_running_now_does_not_count_against_max_runs(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door, max_runs=2)
    for _ in range(3):
        clock.advance(seconds=1)
        good(await door.run_now(local_caller("ann"), job.number))
        await hands.claim()
    assert good(await door.show(local_caller("ann"), job.number)).remaining == 2
    await fire_every_minute(hands, clock, 4)
    ended = good(await door.show(local_caller("ann"), job.number))
    assert [run.manual for run in await runs_of(door, job)] == [True] * 3 + [False] * 2
    assert (ended.status, ended.run_count, ended.manual_count) == ("completed", 5, 3)


async def test_a_job_that_is_running_is_not_run_now_as_well(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door, task="prompt")
    await fire_every_minute(hands, clock, 1)
    clock.advance(seconds=1)
    refused = await door.run_now(local_caller("ann"), job.number)
    assert isinstance(refused, Err)
    assert (refused.code, refused.message) == ("already_running", f"Job {job.number} is running already.")
    assert '{"overlap": "queue"}' in refused.hint


async def test_a_job_that_queues_runs_now_as_soon_as_its_run_has_ended(
    door: Scheduler, slow: Slow, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, task="slow", policy={"overlap": "queue"})
    clock.advance(minutes=1)
    await slow.hands.engine.firing.step(slow.hands.engine.worker)
    clock.advance(seconds=1)
    good(await door.run_now(local_caller("ann"), job.number))
    assert await states_of(door, job) == ["running", "waiting"]
    assert await sql.fetchval("select due_at from cronty.queue") is None, "it stands in line"
    slow.go.set()
    await slow.hands.finish()
    await slow.hands.claim()
    assert (await states_of(door, job), slow.calls) == (["done", "done"], 2)


async def test_a_job_that_allows_overlap_runs_now_at_once(door: Scheduler, slow: Slow, clock: HandClock) -> None:
    job = await add(door, task="slow", policy={"overlap": "allow"})
    clock.advance(minutes=1)
    await slow.hands.engine.firing.step(slow.hands.engine.worker)
    clock.advance(seconds=1)
    good(await door.run_now(local_caller("ann"), job.number))
    await slow.hands.engine.claiming.step(slow.hands.engine.worker)
    assert await states_of(door, job) == ["running", "running"]


async def test_a_paused_job_can_be_run_now_and_stays_paused(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object]
) -> None:
    job = await add(door)
    await door.pause(local_caller("ann"), job.number)
    clock.advance(seconds=1)
    good(await door.run_now(local_caller("ann"), job.number))
    await hands.claim()
    assert len(calls) == 1
    assert good(await door.show(local_caller("ann"), job.number)).state == "paused"


async def test_a_completed_job_can_be_run_again_and_is_completed_again(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    job = await add(door, max_runs=1)
    await fire_every_minute(hands, clock, 1)
    clock.advance(seconds=1)
    good(await door.run_now(local_caller("ann"), job.number))
    assert good(await door.show(local_caller("ann"), job.number)).status == "running"
    await hands.claim()
    assert good(await door.show(local_caller("ann"), job.number)).status == "completed"


async def test_a_cancelled_job_cannot_be_run_now(door: Scheduler) -> None:
    job = await add(door)
    await door.cancel(local_caller("ann"), job.number)
    refused = await door.run_now(local_caller("ann"), job.number)
    assert isinstance(refused, Err)
    assert refused.code == "not_editable"


async def test_a_run_asked_for_at_the_very_moment_of_a_slot_does_not_stop_the_engine(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    job = await add(door, policy={"overlap": "allow"})
    healthy = await add(door, name="healthy")
    clock.advance(minutes=1)
    await door.run_now(local_caller("ann"), job.number)
    await hands.all()
    assert await states_of(door, healthy) == ["done"]


# -- counts --------------------------------------------------------------------------------------------------------


async def test_a_missed_last_slot_does_not_take_a_success_away(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door, "interval", {"hours": 1}, ends_at=START + timedelta(hours=3))
    for _ in range(2):
        clock.advance(hours=1)
        await hands.fire()
    clock.advance(days=3)
    await hands.fire()
    shown = good(await door.show(local_caller("ann"), job.number))
    assert await states_of(door, job) == ["done", "done", "missed"]
    assert (shown.run_count, shown.success_count, shown.status) == (2, 2, "failed")
