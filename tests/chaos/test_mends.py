"""Interleavings that do harm when a mend is taken out, and none with it; a simulated life rarely comes to them."""

# pyright: reportPrivateUsage=false

import asyncio
from contextlib import suppress
from datetime import timedelta

import asyncpg
import pytest
from asyncpg import Connection

from chaos.life.mends import taken_out
from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.scheduler import Scheduler
from cronty.store.database import Database, StoreUnavailable
from cronty.store.engine_store import EngineStore
from tests.conftest import HandClock, Hands, add, hands_of


class Slow:
    """A task that takes until it is interrupted."""

    def __init__(self) -> None:
        self.started = self.busy = 0

    async def wait(self) -> None:
        self.started += 1
        self.busy += 1
        try:
            await asyncio.sleep(600)
        finally:
            self.busy -= 1


@pytest.fixture
def slow(registry: Registry) -> Slow:
    task = Slow()
    registry.add(task.wait, "wait")
    return task


async def add_soon(door: Scheduler, clock: HandClock) -> None:
    await add(door, "once", {"run_at": (clock() + timedelta(seconds=1)).isoformat()}, task="wait")
    clock.advance(seconds=1)


async def lose_a_claim_while_beating(hands: Hands) -> None:
    """The heartbeat has looked for names in doubt when the answer to a claim gets lost."""
    lease = hands.engine.lease
    renew = lease._renew

    async def lost(_worker: int) -> float:
        raise StoreUnavailable("the answer got lost")

    async def renew_meanwhile(worker: int) -> bool:
        renewed = await renew(worker)
        with suppress(StoreUnavailable):
            await lease.claiming(lost)
        return renewed

    lease._renew = renew_meanwhile
    await lease.beat()
    lease._renew = renew


@pytest.mark.parametrize(("mend", "state"), [("N1", "waiting"), (None, "running")])
async def test_an_engine_is_not_robbed_of_what_it_claims_after_a_claim_was_lost(
    door: Scheduler, url: str, clock: HandClock, registry: Registry, slow: Slow, sql: Connection, mend: str | None,
    state: str,
) -> None:  # fmt: skip
    with taken_out(mend):
        async with hands_of(url, clock, registry):
            pass  # it died, and another will strike it off
        async with hands_of(url, clock, registry) as one, hands_of(url, clock, registry) as other:
            await one.store.publish_tasks(registry.published())
            for _ in range(8):
                clock.advance(seconds=10)
                await one.engine.lease.beat()
                await other.engine.lease.beat()
            await lose_a_claim_while_beating(one)
            await add_soon(door, clock)
            await one.engine.lease.claiming(one.engine.firing.step)
            assert slow.started == 1
            await other.engine.rescuing.step()
            assert slow.busy == 1
            assert await sql.fetchval("select state::text from cronty.runs") == state
            one.engine.working.interrupt(one.engine.working.known())
            await one.finish()


async def waits(sql: Connection) -> None:
    while not await sql.fetchval("select count(*) from pg_locks where not granted"):  # bounded by the test's own limit
        await asyncio.sleep(0.005)


@pytest.mark.parametrize(("mend", "state"), [("H2", "waiting"), (None, "running")])
async def test_a_rescue_that_had_to_wait_takes_nothing_from_a_worker_that_it_has_not_seen(
    door: Scheduler, url: str, clock: HandClock, registry: Registry, slow: Slow, sql: Connection, mend: str | None,
    state: str,
) -> None:  # fmt: skip
    database = Database(url, clock=clock, hot=True)
    database._settings["lock_timeout"] = "60s"
    holder = await asyncpg.connect(url)
    with taken_out(mend):
        async with hands_of(url, clock, registry) as struck, holder.transaction():
            await struck.store.publish_tasks(registry.published())
            first, second = await add(door, task="wait", name="first"), await add(door, task="wait", name="second")
            clock.advance(minutes=1)
            await struck.engine.firing.step(struck.engine.worker)
            await sql.execute("delete from cronty.workers")
            await holder.execute("select from cronty.runs where job_id = $1 for update", first.id)
            store = EngineStore(await database.open())
            rescue = asyncio.create_task(store.rescue([struck.engine.worker], 3))
            await waits(sql)
            async with hands_of(url, clock, registry) as newer:
                claim = "update cronty.runs set worker = $1, attempt = 2 where job_id = $2"
                await sql.execute(claim, newer.engine.worker, second.id)
            struck.engine.working.interrupt(struck.engine.working.known())
        await rescue
    await holder.close()
    await database.close()
    assert await sql.fetchval("select state::text from cronty.runs where job_id = $1", first.id) == "waiting"
    assert await sql.fetchval("select state::text from cronty.runs where job_id = $1", second.id) == state


@pytest.mark.parametrize(("mend", "busy"), [("N7", 2), (None, 0)])
async def test_a_run_that_a_restore_made_wait_again_is_not_performed_twice_at_once(
    door: Scheduler, clock: HandClock, hands: Hands, slow: Slow, sql: Connection, mend: str | None, busy: int
) -> None:
    with taken_out(mend):
        await hands.store.publish_tasks(hands.engine.registry.published())
        await add_soon(door, clock)
        await hands.engine.lease.beat()
        await hands.engine.firing.step(hands.engine.worker)
        assert slow.busy == 1
        await sql.execute("update cronty.runs set state = 'waiting', worker = null, attempt = 0")
        await sql.execute(
            "insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)"
            " select job_id, scheduled_for, $1, owner_id, 'wait' from cronty.runs",
            clock(),
        )
        await hands.engine.claiming.step(hands.engine.worker)
        await asyncio.sleep(0)
        assert slow.busy == busy
        hands.engine.working.interrupt(hands.engine.working.known())
        await hands.finish()


@pytest.mark.parametrize(("mend", "started"), [("H3", 2), (None, 1)])
async def test_what_is_cancelled_in_line_never_starts(
    door: Scheduler, url: str, clock: HandClock, registry: Registry, slow: Slow, mend: str | None, started: int
) -> None:
    with taken_out(mend):
        async with hands_of(url, clock, registry, concurrency=1) as hands:
            await hands.store.publish_tasks(registry.published())
            working = hands.engine.working
            working.reserve = lambda most, *, beyond=False, urgent=False: most  # claims more than it performs at once
            jobs = [await add(door, task="wait", name=name) for name in ("first", "second")]
            clock.advance(minutes=1)
            await hands.engine.lease.beat()
            await hands.engine.firing.step(hands.engine.worker)
            [in_line] = [job for job in jobs if job.id == working._line[0].job_id]
            await door.cancel(local_caller("ann"), in_line.number)
            await hands.engine.lease.beat()
            working.interrupt(list(working._performing))
            for _ in range(4):
                await asyncio.sleep(0)
            assert slow.started == started
            working.interrupt(working.known())
