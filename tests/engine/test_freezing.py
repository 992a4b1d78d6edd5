"""A frozen installation fires nothing, sends nothing and loses nothing."""

import asyncio
from datetime import timedelta

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.engine.engine import Engine, EngineOptions
from cronty.engine.firing import FROZEN_REST
from cronty.scheduler import Scheduler
from cronty.store.database import Database
from cronty.store.freezing import freeze, frozen, thaw
from cronty.store.telling_store import TellingStore
from tests.conftest import START, HandClock, Hands, add
from tests.patience import PATIENCE


async def states(sql: Connection) -> dict[str, int]:
    rows = await sql.fetch("select state::text, sum(slots)::int from cronty.runs group by 1")
    return {row[0]: row[1] for row in rows}


async def test_what_is_due_waits_and_every_slot_gets_its_verdict_by_its_policy(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door, policy={"catch_up": "all", "overlap": "allow"})
    await add(door, policy={"catch_up": "none"}, name="second")
    await freeze(database, "")
    clock.advance(minutes=10)
    assert await hands.engine.lease.claiming(hands.engine.firing.step) == FROZEN_REST
    assert await hands.engine.lease.claiming(hands.engine.claiming.step) > 0
    assert (calls, await states(sql)) == ([], {})
    await thaw(database)
    await hands.all()
    found = await states(sql)
    assert sum(found.values()) == 20
    assert found["done"] == len(calls) >= 10
    assert found["missed"] >= 9
    assert await sql.fetchval("select count(*) from cronty.slots_unaccounted where why like 'its predecessor%'") == 0


async def test_slots_are_found_at_once_after_a_long_frost(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, calls: list[object]
) -> None:
    """The mark below which nothing is looked for must not rise while slots pass."""
    await add(door, "once", {"run_at": START + timedelta(minutes=1)})
    await freeze(database, "")
    for _ in range(30):
        clock.advance(minutes=10)
        await hands.engine.lease.claiming(hands.engine.firing.step)
    await thaw(database)
    await hands.fire()
    assert len(calls) == 1


async def test_what_waits_in_the_queue_is_not_claimed(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await add(door, "once", {"run_at": START + timedelta(minutes=1)}, task="fail", policy={"attempts": 2})
    clock.advance(minutes=1)
    await hands.fire()
    clock.advance(hours=1)
    await freeze(database, "")
    await hands.claim()
    assert await states(sql) == {"waiting": 1}
    await thaw(database)
    await hands.claim()
    assert await states(sql) == {"failed": 1}


async def test_no_result_is_told(database: Database, sql: Connection) -> None:
    await sql.execute(
        "insert into cronty.tellings (job_id, scheduled_for, owner_id, attempt, due_at) values (1, $1, 1024, 1, $1)",
        START,
    )
    await freeze(database, "")
    assert await TellingStore(database).claim(10, 60, 5) == []
    assert await sql.fetchval("select tries from cronty.tellings") == 0


async def test_the_first_frost_counts_and_the_last_reason(database: Database, clock: HandClock) -> None:
    assert await thaw(database) is None
    await freeze(database, "")
    clock.advance(hours=1)
    held = await freeze(database, "restored copy")
    assert held == await frozen(database)
    assert held.sentence == (
        f"Frozen since {START:%Y-%m-%d %H:%M} UTC (restored copy): nothing fires until `cronty thaw`."
    )
    assert await thaw(database) == held
    assert await frozen(database) is None


async def test_running_engines_obey_at_once_and_are_woken_by_a_thaw(
    url: str, door: Scheduler, database: Database, sql: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """By the real clock: an engine rests for a second while it is frozen, and not until its next slot."""
    started, registry = asyncio.Event(), Registry()

    async def note() -> None:
        started.set()

    registry.add(note)
    real = await Database(url, hot=True).open()
    engine = Engine(real, registry, EngineOptions(lease=5))
    await engine.start()
    try:
        await freeze(database, "")
        await add(door)
        await sql.execute("update cronty.due set next_at = now()")
        await sql.execute("select pg_notify('cronty', 'due 0')")
        async with asyncio.timeout(PATIENCE):
            while "installation is frozen" not in caplog.text:  # it has looked, and found something due
                await asyncio.sleep(0.01)
        assert not started.is_set()
        await thaw(database)
        async with asyncio.timeout(PATIENCE):
            await started.wait()
    finally:
        await engine.stop()
        await real.close()
