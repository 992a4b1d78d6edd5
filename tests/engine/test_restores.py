"""What engines do with runs under way when the database goes back to an earlier state: a restore, a lossy failover."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add, hands_of
from tests.patience import PATIENCE


@pytest.fixture
async def timeline(sql: Connection) -> AsyncGenerator[Callable[[], Awaitable[None]]]:
    """Begins a new timeline, as a restore and a standby that takes over do."""
    [before] = await sql.fetchrow("select pg_get_functiondef('cronty.epoch'::regproc)") or ("",)

    async def begin() -> None:
        epoch = await sql.fetchval("select cronty.epoch()")
        await sql.execute(f"create or replace function cronty.epoch() returns int language sql as 'select {epoch + 1}'")

    yield begin
    await sql.execute(before)


async def go_back(sql: Connection, clock: HandClock, attempt: int) -> None:
    """To when all runs waited after so many attempts."""
    await sql.execute("update cronty.runs set state = 'waiting', worker = null, attempt = $1", attempt)
    await sql.execute(
        "insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)"
        " select job_id, scheduled_for, $1, r.owner_id, task from cronty.runs r join cronty.jobs j on j.id = job_id",
        clock.moment,
    )


class Slow:
    """A task that takes until it is let go, as a coroutine or in a thread."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.interrupted: list[str] = []
        self.opened = threading.Event()
        self.busy = self.most_busy = 0

    async def wait(self, name: str = "") -> None:
        self.started.append(name)
        self.busy += 1
        self.most_busy = max(self.busy, self.most_busy)
        try:
            await asyncio.to_thread(self.opened.wait, PATIENCE)
        except asyncio.CancelledError:
            self.interrupted.append(name)
            raise
        finally:
            self.busy -= 1

    def block(self, name: str = "") -> None:
        self.started.append(name)
        self.opened.wait(PATIENCE)

    async def has_started(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.started:
                await asyncio.sleep(0.001)


@pytest.fixture
async def slow(registry: Registry, hands: Hands) -> AsyncGenerator[Slow]:
    task = Slow()
    registry.add(task.wait, "wait")
    await hands.store.publish_tasks(registry.published())
    yield task
    task.opened.set()


@pytest.mark.parametrize("forgotten", [1, 2])
@pytest.mark.parametrize("renamed", [False, True])
async def test_a_run_that_is_claimed_again_is_not_performed_twice_at_once(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection, slow: Slow, forgotten: int, renamed: bool
) -> None:
    """The engine learns of the restore by claiming what it performs: as the same attempt, or as one before it."""
    await add(door, "once", {"run_at": START.replace(minute=1).isoformat()}, task="wait")
    clock.advance(minutes=1)
    await hands.engine.lease.beat()
    await hands.engine.firing.step(hands.engine.worker)
    await sql.execute("update cronty.runs set attempt = 2")
    [attempt] = hands.engine.working.known()
    attempt.number = 2
    await go_back(sql, clock, 2 - forgotten)
    if renamed:
        await hands.engine.lease.register()
    await hands.engine.claiming.step(hands.engine.worker)
    assert slow.most_busy == 1
    await hands.finish()
    assert slow.interrupted == [""]
    assert await sql.fetchval("select state::text from cronty.runs") == "waiting"
    slow.opened.set()
    await hands.claim()
    assert await sql.fetchrow("select state::text, attempt from cronty.runs") == ("done", 4 - forgotten)
    assert slow.most_busy == 1
    assert len(slow.started) == 2


@pytest.mark.parametrize("told_by", ["timeline", "heartbeat", "time"])
async def test_what_is_performed_and_the_database_knows_nothing_of_is_interrupted(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection, slow: Slow, told_by: str,
    timeline: Callable[[], Awaitable[None]],
) -> None:  # fmt: skip
    """A disk that was put back to a snapshot keeps its timeline, and may even have the last heartbeat."""
    await add(door, task="wait")
    await add(door, task="wait", args=("remembered",), name="other")
    clock.advance(minutes=1)
    await hands.engine.lease.beat()
    await hands.engine.firing.step(hands.engine.worker)
    await hands.engine.lease.beat()
    before = hands.engine.worker
    await sql.execute("delete from cronty.runs where job_id = (select min(id) from cronty.jobs)")
    match told_by:
        case "timeline":
            await timeline()
        case "heartbeat":
            await sql.execute("update cronty.workers set beat_at = beat_at - interval '1 second'")
        case _:
            clock.advance(minutes=1)
    await hands.engine.lease.beat()
    await asyncio.sleep(0)
    assert slow.interrupted == [""]
    slow.opened.set()
    await hands.finish()
    assert await sql.fetch("select state::text, attempt from cronty.runs") == [("done", 1)]
    assert hands.engine.worker == before


@pytest.mark.parametrize("kind", ["coroutine", "function"])
@pytest.mark.parametrize("remembered", [True, False])
async def test_what_has_not_begun_is_started_only_if_the_database_remembers_it(
    door: Scheduler, url: str, clock: HandClock, sql: Connection, timeline: Callable[[], Awaitable[None]], kind: str,
    remembered: bool,
) -> None:  # fmt: skip
    registry, slow = Registry(), Slow()
    registry.add(slow.wait if kind == "coroutine" else slow.block, "wait")
    async with hands_of(url, clock, registry, concurrency=1) as hands:
        working = hands.engine.working
        working.free_places = lambda: 2 - working.in_flight  # claims more than it performs at once
        for name in ("first", "second"):
            await add(
                door, "once", {"run_at": START.replace(minute=1).isoformat()}, task="wait", args=(name,), name=name
            )
        clock.advance(minutes=1)
        await hands.engine.lease.beat()
        await hands.engine.firing.step(hands.engine.worker)
        await slow.has_started()
        await timeline()
        if not remembered:
            await sql.execute("delete from cronty.runs")
        await hands.engine.lease.beat()
        slow.opened.set()
        await hands.finish()
        runs = await sql.fetch("select state::text, attempt from cronty.runs")
    assert runs == ([("done", 1)] * 2 if remembered else [])
    assert len(slow.started) == (2 if remembered else 1)
