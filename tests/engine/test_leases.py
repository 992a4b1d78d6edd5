"""Who holds a run: leases that pass, answers that get lost, workers that leave or keep dying."""

import asyncio
import threading

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.engine.engine import Engine, EngineOptions
from cronty.scheduler import Scheduler
from cronty.store.database import Database, StoreUnavailable
from cronty.store.engine_store import Fired
from cronty.store.job_store import JobStore
from tests.conftest import START, HandClock, Hands, add, hands_of, look
from tests.patience import PATIENCE


async def run(sql: Connection) -> tuple[str, int, int]:
    found = await sql.fetchrow("select state::text, attempt, crashes from cronty.runs")
    assert found is not None
    return found[0], found[1], found[2]


async def test_a_late_worker_keeps_its_name_as_long_as_nobody_struck_it_off(hands: Hands, clock: HandClock) -> None:
    before = hands.engine.worker
    clock.advance(minutes=5)
    await hands.engine.lease.beat()
    assert hands.engine.worker == before


async def test_a_worker_that_was_struck_off_goes_on_under_a_new_name(hands: Hands, clock: HandClock) -> None:
    before = hands.engine.worker
    clock.advance(minutes=5)
    await hands.engine.rescuing.step()
    await hands.engine.lease.beat()
    assert hands.engine.worker != before


async def test_runs_claimed_in_a_commit_whose_answer_got_lost_are_handed_back(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door)
    clock.advance(minutes=1)
    await hands.engine.lease.beat()

    async def claim_without_hearing_of_it(worker: int) -> float:
        async with hands.store.due_jobs(None, 10) as due:
            await due.fire(Fired([job.id], [clock.moment], [None], [due.rows[0]["owner_id"]]), worker, 1, clock.moment)
        raise StoreUnavailable("the connection was lost while the commit was on its way")

    doubted = hands.engine.worker
    with pytest.raises(StoreUnavailable):
        await hands.engine.lease.claiming(claim_without_hearing_of_it)
    assert await run(sql) == ("running", 1, 0)
    await hands.engine.lease.beat()
    assert await run(sql) == ("waiting", 1, 0)
    await hands.claim()
    assert await run(sql) == ("done", 2, 0)
    assert len(calls) == 1
    assert await sql.fetchval("select outcome from cronty.attempts") == "lost"
    assert await sql.fetchval("select count(*) from cronty.workers where id = $1", doubted) == 0


async def test_what_a_worker_in_doubt_does_know_stays_with_it(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    opened = threading.Event()
    registry.add(lambda: opened.wait(PATIENCE), "slow")
    await hands.store.publish_tasks(registry.published())
    await add(door, task="slow")
    clock.advance(minutes=1)
    await hands.engine.lease.beat()
    await hands.engine.firing.step(hands.engine.worker)
    held_by = hands.engine.worker
    hands.engine.lease._in_doubt.add(held_by)  # pyright: ignore[reportPrivateUsage]
    await hands.engine.lease.beat()
    assert hands.engine.worker != held_by
    assert await run(sql) == ("running", 1, 0)
    opened.set()
    await hands.finish()
    assert await run(sql) == ("done", 1, 0)
    await hands.engine.lease.beat()
    assert await sql.fetchval("select count(*) from cronty.workers where id = $1", held_by) == 0


async def test_a_run_that_keeps_taking_its_worker_down_is_quarantined(
    door: Scheduler, url: str, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    opened = threading.Event()
    registry.add(lambda: opened.wait(PATIENCE), "deadly")
    await hands.store.publish_tasks(registry.published())
    job = await add(door, "once", {"run_at": START.replace(minute=1).isoformat()}, task="deadly")
    clock.advance(minutes=1)
    for crash in (1, 2, 3):
        async with hands_of(url, clock, registry) as doomed:
            step = doomed.engine.firing if crash == 1 else doomed.engine.claiming
            await step.step(doomed.engine.worker)
        assert await run(sql) == ("running", crash, crash - 1)
        clock.advance(minutes=1)
        await hands.engine.rescuing.step()
    opened.set()
    assert await run(sql) == ("quarantined", 3, 3)
    assert (await look(door, job)).last_error == "its worker died 3 times while performing it"


async def test_a_worker_that_stops_finishes_what_it_can_and_hands_over_the_rest(url: str, sql: Connection) -> None:
    """With the real clock and the real loops."""
    registry = Registry()
    started = asyncio.Event()

    async def endless() -> None:
        started.set()
        await asyncio.sleep(60)

    registry.add(endless)
    database, doors = await Database(url, hot=True).open(), await Database(url).open()
    engine = Engine(database, registry, EngineOptions(drain=0.2))
    await engine.start()
    door = Scheduler(JobStore(doors))
    job = await add(door, task="endless")
    await door.run_now("ann", job.id)
    async with asyncio.timeout(PATIENCE):
        await started.wait()
        await engine.stop()
    await database.close()
    await doors.close()
    assert await run(sql) == ("waiting", 1, 0)
    assert await sql.fetchval("select outcome from cronty.attempts") == "interrupted"
    assert await sql.fetchval("select count(*) from cronty.workers") == 0
