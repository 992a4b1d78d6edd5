"""How attempts end: retries, timeouts, cancellation, and the fence against late outcomes."""

import asyncio
import threading
from datetime import timedelta

import pytest
from asyncpg import Connection

from cronty.actions.tasks import PermanentError, Registry, Snooze, current_run
from cronty.contract.caller import local_caller
from cronty.engine.attempt import Attempt
from cronty.jobs.outcome import Done
from cronty.scheduler import Scheduler
from tests.conftest import HandClock, Hands, add, hands_of, look
from tests.patience import PATIENCE


async def row(sql: Connection) -> tuple[str, int, str | None]:
    found = await sql.fetchrow("select state::text, attempt, error from cronty.runs")
    assert found is not None
    return found[0], found[1], found[2]


async def test_a_failure_is_tried_again_and_then_final(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, task="fail", policy={"attempts": 3, "backoff": 10, "jitter": 0})
    clock.advance(minutes=1)
    await hands.fire()
    assert await row(sql) == ("waiting", 1, "ValueError: no luck")
    await hands.claim()
    assert (await row(sql))[1] == 1, "not before its pause is over"
    clock.advance(seconds=10)
    await hands.claim()
    assert await row(sql) == ("waiting", 2, "ValueError: no luck")
    clock.advance(seconds=20)
    await hands.claim()
    assert await row(sql) == ("failed", 3, "ValueError: no luck")
    assert await sql.fetchval("select array_agg(outcome order by attempt) from cronty.attempts") == ["failed", "failed"]
    shown = await look(door, job)
    assert (shown.status, shown.last_error, shown.failure_count) == ("pending", "ValueError: no luck", 1)


async def test_a_success_ends_a_row_of_failures(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    moods = [ValueError("first"), None]

    def moody() -> None:
        if mood := moods.pop(0):
            raise mood

    registry.add(moody)
    await hands.store.publish_tasks(registry.published())
    job = await add(door, task="moody")
    for expected in ("ValueError: first", None):
        clock.advance(minutes=1)
        await hands.fire()
        shown = await look(door, job)
        assert shown.last_error == expected
    assert (shown.success_count, shown.failure_count) == (1, 1)


async def test_a_permanent_error_is_not_tried_again(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    def hopeless() -> None:
        raise PermanentError("gone for good")

    registry.add(hopeless)
    await hands.store.publish_tasks(registry.published())
    await add(door, task="hopeless", policy={"attempts": 5})
    clock.advance(minutes=1)
    await hands.fire()
    assert await row(sql) == ("failed", 1, "gone for good")


async def test_a_snooze_is_neither_success_nor_failure(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    def sleepy() -> int:
        if current_run().attempt < 3:
            raise Snooze(timedelta(minutes=5))
        return current_run().attempt

    registry.add(sleepy)
    await hands.store.publish_tasks(registry.published())
    await add(door, "once", {"run_at": (clock() + timedelta(minutes=1)).isoformat()}, task="sleepy")
    clock.advance(minutes=1)
    await hands.all()
    for _ in range(2):
        clock.advance(minutes=5)
        await hands.claim()
    assert await row(sql) == ("done", 3, None)
    assert await sql.fetchval("select failures from cronty.runs") == 0


async def test_a_task_is_told_of_the_epoch_that_tells_an_attempt_from_its_repeat_after_a_restore(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    told: list[int] = []

    def in_a_thread() -> None:
        told.append(current_run().epoch)

    async def in_the_loop() -> None:
        told.append(current_run().epoch)
        raise Snooze(timedelta(minutes=5))

    for task in (in_a_thread, in_the_loop):
        registry.add(task)
    await hands.store.publish_tasks(registry.published())
    for task in ("in_a_thread", "in_the_loop"):
        await add(door, "once", {"run_at": (clock() + timedelta(minutes=1)).isoformat()}, task=task)
    clock.advance(minutes=1)
    await hands.all()
    clock.advance(minutes=5)
    await hands.claim()
    epoch = await sql.fetchval("select cronty.epoch()")
    assert epoch > 0
    assert told == [epoch] * 3, "when it fires, and when it is claimed again"


async def test_a_run_longer_than_its_timeout_fails(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    opened = threading.Event()

    def stuck() -> None:
        opened.wait(PATIENCE)

    async def adrift() -> None:
        await asyncio.sleep(600)

    for task in (stuck, adrift):
        registry.add(task)
    await hands.store.publish_tasks(registry.published())
    for task in ("stuck", "adrift"):
        await add(door, task=task, policy={"timeout": 0.05})
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    async with asyncio.timeout(PATIENCE):
        while hands.engine.working.in_flight:
            hands.engine.working.expire()
            await hands.engine.settling.step()
            await asyncio.sleep(0.01)
    opened.set()
    found = await sql.fetch("select state::text, error from cronty.runs")
    assert [tuple(one) for one in found] == [("failed", "Timeout: it ran longer than 0.05 s")] * 2


async def test_cancelling_a_job_stops_its_running_run(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    async def adrift() -> None:
        await asyncio.sleep(600)

    registry.add(adrift)
    await hands.store.publish_tasks(registry.published())
    job = await add(door, task="adrift")
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    await door.cancel(local_caller("ann"), job.number)
    await hands.engine.lease.beat()
    await hands.finish()
    assert (await row(sql))[0] == "cancelled"
    shown = await look(door, job)
    assert (shown.status, shown.cancelled_count, shown.success_count) == ("cancelled", 1, 0)


async def test_a_run_that_is_cancelled_while_it_waits_for_its_turn_here_is_never_started(
    door: Scheduler, url: str, clock: HandClock, sql: Connection
) -> None:
    """Claimed by this worker, and still in line behind others of its own."""
    registry, started = Registry(), list[str]()

    async def wait(name: str) -> None:
        started.append(name)
        await asyncio.sleep(60)

    registry.add(wait)
    async with hands_of(url, clock, registry, concurrency=1) as hands:
        # claims more than it performs at once
        hands.engine.working.reserve = lambda most, *, beyond=False, urgent=False: most
        jobs = [await add(door, task="wait", args=(name,), name=name) for name in ("first", "second")]
        clock.advance(minutes=1)
        await hands.engine.lease.beat()
        await hands.engine.firing.step(hands.engine.worker)
        assert len(started) == 1
        [waiting] = [job for job in jobs if job.name not in started]
        await door.cancel(local_caller("ann"), waiting.number)
        await hands.engine.lease.beat()
        await hands.engine.settling.step()
        assert await sql.fetchval("select state::text from cronty.runs where job_id = $1", waiting.id) == "cancelled"
        hands.engine.working.interrupt(hands.engine.working.known())
        assert waiting.name not in started


async def test_a_run_that_is_stopped_before_the_answer_to_its_claim_comes_never_starts(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    started: list[int] = []

    async def adrift() -> None:
        started.append(1)

    registry.add(adrift)
    await hands.store.publish_tasks(registry.published())
    job = await add(door, task="adrift")
    clock.advance(minutes=1)
    await hands.engine.lease.beat()
    working = hands.engine.working
    take, answered = working.take, list[Attempt]()
    working.take = lambda attempts, *, first=False: answered.extend(attempts)
    await hands.engine.firing.step(hands.engine.worker)
    await door.cancel(local_caller("ann"), job.number)
    await hands.engine.lease.beat()  # the claim is committed, and its answer is on its way
    take(answered)
    await hands.finish()
    assert (await row(sql))[0] == "cancelled"
    assert started == []
    await hands.engine.lease.beat()
    assert await sql.fetchval("select count(*) from cronty.stop_requests") == 0


@pytest.mark.parametrize("late_outcome", ["success", "failure"])
async def test_a_late_worker_cannot_settle_a_rescued_run(
    door: Scheduler, url: str, clock: HandClock, hands: Hands, sql: Connection, late_outcome: str
) -> None:
    """One worker is frozen past its lease; another one takes the run over; then the first one comes back."""
    frozen_gate = threading.Event()
    frozen, healthy = Registry(), Registry()

    def work_slowly() -> str:
        assert frozen_gate.wait(PATIENCE)
        if late_outcome == "failure":
            raise ValueError("too late anyway")
        return "from the frozen one"

    def work_well() -> str:
        return "from the healthy one"

    frozen.add(work_slowly, "work")
    healthy.add(work_well, "work")
    async with hands_of(url, clock, frozen, lease=30) as first, hands_of(url, clock, healthy, lease=30) as second:
        await add(door, task="work")
        clock.advance(minutes=1)
        await first.engine.enlist()
        await first.engine.firing.step(first.engine.worker)
        await second.outlive(clock)
        await second.claim()
        assert await row(sql) == ("done", 2, None)
        frozen_gate.set()
        await first.finish()
    assert await row(sql) == ("done", 2, None)
    assert await sql.fetchval("select result from cronty.runs") == '"from the healthy one"'
    late = await sql.fetchrow("select attempt, outcome, error from cronty.attempts")
    assert late is not None
    assert (late["attempt"], late["outcome"]) == (1, "superseded")
    assert late["error"].startswith("it reported")


async def test_a_settlement_whose_answer_got_lost_may_be_repeated(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await add(door)
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    ended: list[Attempt] = []
    async with asyncio.timeout(PATIENCE):
        while not ended:
            await asyncio.sleep(0.001)
            ended = hands.engine.working.take_ended(10)
    settle = hands.engine.settling._settle  # pyright: ignore[reportPrivateUsage]
    await settle(hands.engine.worker, ended)
    await settle(hands.engine.worker, ended)
    assert (await row(sql))[0] == "done"
    assert await sql.fetchval("select count(*) from cronty.attempts") == 0


async def test_an_outcome_that_cannot_be_written_fails_alone(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    await add(door)
    await add(door)
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    async with asyncio.timeout(PATIENCE):
        while len(hands.engine.working._ended) < 2:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0.001)
    hands.engine.working._ended[0].outcome = Done("this is not JSON")  # pyright: ignore[reportPrivateUsage]
    await hands.finish()
    found = await sql.fetch("select state::text from cronty.runs order by 1")
    assert [one[0] for one in found] == ["done", "failed"]
