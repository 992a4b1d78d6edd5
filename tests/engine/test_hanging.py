"""Plain functions that never return take threads from a worker, and nothing else."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from datetime import timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add, hands_of, look
from tests.patience import PATIENCE

SOON: dict[str, object] = {"run_at": START + timedelta(seconds=1)}
LATER: dict[str, object] = {"run_at": START + timedelta(seconds=2)}


class Hanging:
    """`hang` returns when it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.opened = threading.Event()

    def hang(self) -> None:
        self.begun += 1
        self.opened.wait(PATIENCE)


@pytest.fixture
async def hanging(registry: Registry) -> AsyncGenerator[Hanging]:
    made = Hanging()
    registry.add(made.hang)

    async def breathe() -> None: ...

    registry.add(breathe)
    yield made
    made.opened.set()


async def hang_all(hands: Hands, hanging: Hanging, most: int) -> None:
    """Expire attempts until so many threads hang."""
    async with asyncio.timeout(PATIENCE):
        while not hands.engine.working.threads_hang:
            await hands.engine.lease.claiming(hands.engine.firing.step)
            await hands.engine.lease.claiming(hands.engine.claiming.step)
            hands.engine.working.expire()
            await hands.engine.settling.step()
            await asyncio.sleep(0.001)
    assert hanging.begun == most
    await hands.finish()


async def states(sql: asyncpg.Connection) -> dict[str, int]:
    rows = await sql.fetch(
        "select j.name || ' ' || r.state::text, count(*) from cronty.runs r join cronty.jobs j on j.id = r.job_id"
        " group by 1"
    )
    return {row[0]: row[1] for row in rows}


async def test_a_worker_whose_threads_all_hang_leaves_functions_to_others_and_performs_coroutines(
    door: Scheduler, url: str, clock: HandClock, sql: asyncpg.Connection, registry: Registry, hanging: Hanging,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    async with hands_of(url, clock, registry, concurrency=2) as hands:
        for _ in range(4):
            policy = {"timeout": 0.001, "attempts": 1}
            await add(door, "once", SOON, task="hang", name="hung", policy=policy)
        clock.advance(seconds=1)
        await hang_all(hands, hanging, 4)
        assert await states(sql) == {"hung failed": 4}
        function = await add(door, "once", LATER, name="function")
        coroutine = await add(door, "once", LATER, task="breathe", name="coroutine")
        clock.advance(seconds=1)
        await hands.all()
        hands.engine.working.expire()
        assert (await look(door, coroutine)).status == "completed"
        assert await states(sql) == {"hung failed": 4, "function waiting": 1, "coroutine done": 1}
        assert hands.engine.why_stuck() == "All threads hold functions past their timeout."
        async with hands_of(url, clock, registry) as others:
            await others.claim()
        assert (await look(door, function)).status == "completed"
        hanging.opened.set()
        async with asyncio.timeout(PATIENCE):
            while hands.engine.working.threads_hang:
                await asyncio.sleep(0.001)
        hands.engine.working.expire()
        assert hands.engine.why_stuck() is None
        again = await add(door, "once", {"run_at": START + timedelta(seconds=3)}, name="again")
        clock.advance(seconds=1)
        await hands.all()
        assert (await look(door, again)).status == "completed"
    said = [record.message for record in caplog.records if "thread" in record.message]
    assert said == [
        "all 4 threads hold functions past their timeout: this worker performs only coroutines",
        "plain functions are performed again: a thread has come back",
    ]


async def test_functions_in_line_behind_threads_that_all_hang_are_handed_back(
    door: Scheduler, url: str, clock: HandClock, sql: asyncpg.Connection, registry: Registry, hanging: Hanging
) -> None:
    async with hands_of(url, clock, registry, concurrency=1) as hands:
        working = hands.engine.working
        working.free_places = lambda: 10 - working.in_flight  # claims more than it performs at once
        for _ in range(5):
            policy = {"timeout": 0.001, "attempts": 1}
            await add(door, "once", SOON, task="hang", name="hung", policy=policy)
        clock.advance(seconds=1)
        await hang_all(hands, hanging, 2)
        assert await states(sql) == {"hung failed": 2, "hung waiting": 3}
        assert await sql.fetchval("select min(reason) from cronty.runs where state = 'waiting'") == (
            "all threads of its worker hang"
        )
        assert working.in_flight == 0
        hanging.opened.set()
