"""One run is stopped and its job goes on."""

import asyncio

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.run import run_id
from cronty.scheduler import Scheduler
from cronty.scheduler.runs import Runs
from cronty.store.database import Database
from cronty.store.run_store import RunStore
from tests.conftest import TRAIL, HandClock, Hands, add, look

ANN = local_caller("ann")


@pytest.fixture
async def runs(database: Database, door: Scheduler, hands: Hands, registry: Registry) -> Runs:
    async def adrift() -> None:
        await asyncio.sleep(600)

    registry.add(adrift)
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
