"""One run is stopped and its job goes on."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.run import run_id
from cronty.scheduler import Scheduler
from cronty.scheduler.runs import Runs
from cronty.store.database import Database, query
from cronty.store.run_store import RunStore
from tests.conftest import START, TRAIL, HandClock, Hands, add, hands_of, look
from tests.patience import PATIENCE

ANN = local_caller("ann")
SOON: dict[str, object] = {"run_at": START + timedelta(minutes=1)}
THREE = {"attempts": 3, "backoff": 60}


@pytest.fixture
async def runs(database: Database, door: Scheduler, hands: Hands, registry: Registry) -> Runs:
    async def adrift() -> None:
        await asyncio.sleep(600)

    async def stumble() -> None:
        raise ValueError("again")

    registry.add(adrift)
    registry.add(stumble)
    await hands.store.publish_tasks(registry.published())
    return Runs(RunStore(database), door)


async def seen(sql: asyncpg.Connection) -> list[tuple[str, str | None]]:
    found = await sql.fetch("select state::text, reason from cronty.runs order by scheduled_for")
    return [(row["state"], row["reason"]) for row in found]


def code(result: Result[None]) -> str | None:
    return result.code if isinstance(result, Err) else None


async def test_a_running_one_is_asked_to_stop_and_the_next_time_comes(
    door: Scheduler, hands: Hands, clock: HandClock, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, task="adrift")
    slot = clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    assert isinstance(await runs.stop(ANN, run_id(job.number, slot)), Ok)
    assert isinstance(await runs.stop(ANN, run_id(job.number, slot)), Ok), "again, while it hasn't ended"
    await hands.engine.lease.beat()
    await hands.finish()
    assert await seen(sql) == [("cancelled", "stopped by request")]
    shown = await look(door, job)
    assert (shown.status, shown.cancelled_count, shown.failures_in_row) == ("pending", 1, 0)
    assert shown.next_slot is not None
    assert await sql.fetchval(f"select count(*) from {TRAIL} where what = 'stopped'") == 2
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    assert [state for state, _ in await seen(sql)] == ["cancelled", "running"]
    hands.engine.working.interrupt(hands.engine.working.known())


async def test_one_in_line_is_cancelled_and_the_one_behind_it_moves_up(
    door: Scheduler, hands: Hands, clock: HandClock, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, task="adrift", policy={"overlap": "queue"})
    slots = list[str]()
    for _ in range(3):
        slots.append(run_id(job.number, clock.advance(minutes=1)))
        await hands.engine.firing.step(hands.engine.worker)
    assert [state for state, _ in await seen(sql)] == ["running", "waiting", "waiting"]
    assert isinstance(await runs.stop(ANN, slots[1]), Ok)
    assert [state for state, _ in await seen(sql)] == ["running", "cancelled", "waiting"]
    assert isinstance(await runs.stop(ANN, slots[0]), Ok)
    await hands.engine.lease.beat()
    await hands.finish()
    await hands.engine.claiming.step(hands.engine.worker)
    assert [state for state, _ in await seen(sql)] == ["cancelled", "cancelled", "running"]
    hands.engine.working.interrupt(hands.engine.working.known())


async def test_what_has_ended_is_not_there_or_is_another_owners_is_refused(
    door: Scheduler, hands: Hands, clock: HandClock, runs: Runs
) -> None:
    job = await add(door)
    slot = clock.advance(minutes=1)
    await hands.fire()
    stopped = await runs.stop(ANN, run_id(job.number, slot))
    assert isinstance(stopped, Err)
    assert (stopped.code, stopped.message) == (
        "not_editable",
        f"Run {run_id(job.number, slot)} is done; there is nothing to stop.",
    )
    assert code(await runs.stop(ANN, "run_9_9")) == "not_found"
    assert code(await runs.stop(ANN, "backup")) == "not_found"
    assert code(await runs.stop(local_caller("bob"), run_id(job.number, slot))) == "not_found"


async def waits(sql: asyncpg.Connection) -> None:
    """Until somebody waits for a lock."""
    async with asyncio.timeout(PATIENCE):
        while not await sql.fetchval("select count(*) from pg_locks where not granted"):
            await asyncio.sleep(0.005)


async def test_a_run_that_begins_while_it_is_being_stopped_is_asked_to_stop(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, "once", SOON, task="stumble", policy=THREE)
    slot = clock.advance(minutes=1)
    await hands.fire()
    clock.advance(minutes=5)
    other = await asyncpg.connect(url)
    async with other.transaction():
        nobody: list[int] = []
        given = (hands.engine.worker, ["stumble"], 0, 10, nobody, nobody, nobody, 100, None)
        assert len(await other.fetch(query("claim_runs"), clock(), *given)) == 1
        stopping = asyncio.create_task(runs.stop(ANN, run_id(job.number, slot)))
        await waits(sql)
    await other.close()
    assert isinstance(await stopping, Ok)
    assert await sql.fetchval("select reason from cronty.stop_requests") == "stopped by request"


async def test_a_run_that_is_put_back_while_it_is_being_stopped_is_cancelled(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, "once", SOON, task="adrift", policy=THREE)
    slot = clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    other = await asyncpg.connect(url)
    async with other.transaction():  # as a settlement does, after which it is tried again
        await other.execute("update cronty.runs set state = 'waiting', worker = null")
        await other.execute(
            """insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)
               select job_id, scheduled_for, $1, owner_id, 'adrift' from cronty.runs""",
            clock(),
        )
        stopping = asyncio.create_task(runs.stop(ANN, run_id(job.number, slot)))
        await waits(sql)
    await other.close()
    assert isinstance(await stopping, Ok)
    assert await seen(sql) == [("cancelled", "stopped by request")]
    hands.engine.working.interrupt(hands.engine.working.known())


async def test_a_worker_that_dies_after_it_was_asked_leaves_nothing_to_others(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, "once", SOON, task="adrift")
    slot = clock.advance(minutes=1)
    async with hands_of(url, clock, registry) as dying:
        await dying.engine.firing.step(dying.engine.worker)
        assert isinstance(await runs.stop(ANN, run_id(job.number, slot)), Ok)
        await dying.engine.lease.beat()
    await hands.outlive(clock)
    assert await seen(sql) == [("cancelled", "stopped by request")]


async def test_an_attempt_that_failed_before_it_could_be_stopped_is_not_followed_by_another(
    door: Scheduler, hands: Hands, clock: HandClock, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, "once", SOON, task="stumble", policy=THREE)
    slot = clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    await asyncio.sleep(0)
    assert isinstance(await runs.stop(ANN, run_id(job.number, slot)), Ok)
    await hands.engine.lease.beat()
    await hands.finish()
    assert [state for state, _ in await seen(sql)] == ["cancelled"]
    await hands.engine.lease.beat()
    assert await sql.fetchval("select count(*) from cronty.stop_requests") == 0


async def test_a_key_that_may_not_make_prompts_stops_none(
    door: Scheduler, hands: Hands, clock: HandClock, runs: Runs, sql: asyncpg.Connection
) -> None:
    job = await add(door, "once", SOON, task="prompt", kwargs={"prompt": "Look"})
    slot = clock.advance(minutes=1)
    await hands.fire()
    weak = replace(ANN, scopes=frozenset({"read", "run", "schedule"}))
    assert code(await runs.stop(weak, run_id(job.number, slot))) == "missing_scope"
    assert [state for state, _ in await seen(sql)] == ["waiting"]
