"""What happens when a slot comes while the run before it is still in flight."""

import threading
from collections.abc import AsyncGenerator

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.scheduler import Scheduler
from tests.conftest import HandClock, Hands, add
from tests.patience import PATIENCE


@pytest.fixture
async def gate(hands: Hands, registry: Registry) -> AsyncGenerator[threading.Event]:
    """Opens the task `slow`, which waits for it."""
    opened = threading.Event()

    def slow() -> None:
        assert opened.wait(PATIENCE)

    registry.add(slow)
    await hands.store.publish_tasks(registry.published())
    yield opened
    opened.set()


async def two_slots(door: Scheduler, hands: Hands, clock: HandClock, overlap: str) -> None:
    """A job whose first run is in flight when its second slot fires."""
    await add(door, task="slow", policy={"overlap": overlap})
    for _ in range(2):
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)


async def states(sql: Connection) -> list[str]:
    return [row[0] for row in await sql.fetch("select state::text from cronty.runs order by scheduled_for")]


async def test_skip_gives_the_slot_a_verdict_and_a_reason(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "skip")
    assert await states(sql) == ["running", "skipped"]
    assert await sql.fetchval("select reason from cronty.runs where state = 'skipped'") == (
        "the previous run was still in flight"
    )
    gate.set()
    await hands.finish()
    clock.advance(minutes=1)
    await hands.fire()
    assert await states(sql) == ["done", "skipped", "done"]


async def test_a_skipped_slot_does_not_use_up_max_runs(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await add(door, task="slow", max_runs=2)
    for _ in range(3):
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
    gate.set()
    await hands.finish()
    clock.advance(minutes=1)
    await hands.fire()
    assert await states(sql) == ["done", "skipped", "skipped", "done"]
    assert await sql.fetchval("select next_at from cronty.due") is None


async def test_queue_runs_them_one_after_the_other(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "queue")
    await hands.engine.claiming.step(hands.engine.worker)
    assert await states(sql) == ["running", "waiting"]
    gate.set()
    await hands.finish()
    await hands.claim()
    assert await states(sql) == ["done", "done"]


async def test_allow_runs_them_side_by_side(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "allow")
    assert await states(sql) == ["running", "running"]
    gate.set()
    await hands.finish()
    assert await states(sql) == ["done", "done"]


async def test_cancel_previous_stops_it_and_takes_its_place(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "cancel_previous")
    for job_id, slot in await hands.store.take_stops(hands.engine.worker):
        hands.engine.working.stop(job_id, slot)
    await hands.finish()
    assert await states(sql) == ["cancelled", "waiting"]
    gate.set()
    await hands.claim()
    assert await states(sql) == ["cancelled", "done"]


async def test_a_release_that_was_lost_is_made_good(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "queue")
    await sql.execute("update cronty.queue set behind = behind - interval '1 year'")
    gate.set()
    await hands.finish()
    await hands.claim()
    assert await states(sql) == ["done", "waiting"]
    await hands.engine.rescuing.step()
    await hands.claim()
    assert await states(sql) == ["done", "done"]
