"""What happens when a slot comes while the run before it is still in flight."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Ok
from cronty.scheduler import Scheduler
from cronty.scheduler.runs import Runs
from cronty.store import lines
from cronty.store.database import Database, StoreUnavailable
from cronty.store.engine_store import EngineStore
from cronty.store.run_store import RunStore
from tests.conftest import HandClock, Hands, add, hands_of
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


async def two_slots(door: Scheduler, hands: Hands, clock: HandClock, overlap: str, attempts: int = 1) -> None:
    """A job whose first run is in flight when its second slot fires."""
    await add(door, task="slow", policy={"overlap": overlap, "attempts": attempts})
    for _ in range(2):
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)


async def nothing_released(*_: object) -> int:
    return 0


async def lose_releases(hands: Hands, gate: threading.Event) -> None:
    """The runs in flight are settled, and the lines behind them aren't moved on."""
    gate.set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EngineStore, "release_lines", nothing_released)
        await hands.finish()


@asynccontextmanager
async def picking_held(sql: Connection) -> AsyncGenerator[None]:
    """A look for due jobs stands still after the first of them."""
    as_it_was = await sql.fetchval("select pg_get_functiondef('cronty.epoch'::regproc)")
    await sql.execute(
        "create or replace function cronty.epoch() returns int language plpgsql stable as"
        " $$ begin perform pg_advisory_xact_lock_shared(77); return 1; end $$"
    )
    await sql.execute("select pg_advisory_lock(77)")
    try:
        yield
    finally:
        await sql.execute("select pg_advisory_unlock(77)")
        await sql.execute(as_it_was)


async def states(sql: Connection) -> list[str]:
    return [row[0] for row in await sql.fetch("select state::text from cronty.runs order by scheduled_for")]


async def verdicts(sql: Connection) -> list[tuple[str, str | None]]:
    rows = await sql.fetch("select state::text, reason from cronty.runs order by scheduled_for")
    return [(row[0], row[1]) for row in rows]


async def test_skip_gives_the_slot_a_verdict_and_a_reason(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "skip")
    assert await states(sql) == ["running", "skipped"]
    assert await sql.fetchval("select reason from cronty.runs where state = 'skipped'") == (
        "the run before it had not ended"
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
    await hands.engine.lease.beat()
    await hands.finish()
    assert await states(sql) == ["cancelled", "waiting"]
    gate.set()
    await hands.claim()
    assert await states(sql) == ["cancelled", "done"]


async def test_a_replaced_run_whose_worker_dies_is_not_run_again(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, registry: Registry,
    sql: Connection,
) -> None:  # fmt: skip
    async with hands_of(url, clock, registry) as doomed:
        await two_slots(door, doomed, clock, "cancel_previous")
    gate.set()
    await hands.outlive(clock)
    assert await verdicts(sql) == [("cancelled", "a later one replaced it"), ("waiting", None)]
    assert await sql.fetchval("select cancelled_count from cronty.jobs") == 1
    assert await sql.fetchval("select count(*) from cronty.stop_requests") == 0
    await hands.claim()
    assert await states(sql) == ["cancelled", "done"]


async def test_a_replaced_run_that_its_worker_does_not_know_of_is_not_run_again(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "cancel_previous")
    [known] = await hands.store.running_of(hands.engine.worker)
    assert await hands.store.hand_back(hands.engine.worker, [known]) == 1
    assert await verdicts(sql) == [("cancelled", "a later one replaced it"), ("waiting", None)]
    assert await sql.fetchval("select cancelled_count from cronty.jobs") == 1
    assert await sql.fetchval("select count(*) from cronty.queue") == 1


@pytest.mark.parametrize("how", ["its attempt failed", "its worker shut down"])
async def test_a_replaced_run_that_ends_before_it_is_stopped_is_not_run_again(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection, how: str
) -> None:
    opened = threading.Event()

    def work() -> None:
        assert opened.wait(PATIENCE)
        raise ValueError("no luck")

    registry.add(work, "slow")
    await hands.store.publish_tasks(registry.published())
    await two_slots(door, hands, clock, "cancel_previous", attempts=2)
    if how == "its worker shut down":
        hands.engine.working.interrupt(hands.engine.working.known())
    opened.set()
    await hands.finish()
    assert await verdicts(sql) == [("cancelled", "a later one replaced it"), ("waiting", None)]
    assert await sql.fetchval("select count(*) from cronty.queue") == 1


async def test_a_release_that_was_lost_is_made_good(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "queue")
    await lose_releases(hands, gate)
    await hands.claim()
    assert await states(sql) == ["done", "waiting"]
    await hands.engine.rescuing.step()
    await hands.claim()
    assert await states(sql) == ["done", "done"]


async def test_a_run_that_replaces_one_that_only_waited_starts_at_once(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    """Nothing is under way when the waiting one is cancelled: there is nothing to wait for."""
    await add(door, task="note", policy={"overlap": "cancel_previous"})
    hands.engine.working.reserve = lambda most, *, beyond=False, urgent=False: 0  # no room, so it waits
    for _ in range(2):
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
    assert await states(sql) == ["cancelled", "waiting"]
    assert await sql.fetchval("select due_at is not null from cronty.queue")


async def test_replacing_a_run_that_was_asked_for_does_not_forget_the_one_under_way(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    job = await add(door, task="slow", policy={"overlap": "cancel_previous"})
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    clock.advance(seconds=1)
    await door.run_now(local_caller("ann"), job.number)
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    assert await states(sql) == ["running", "cancelled", "waiting"]
    await hands.engine.claiming.step(hands.engine.worker)
    assert await states(sql) == ["running", "cancelled", "waiting"], "the first one hasn't been stopped yet"


async def test_cancelling_one_in_the_middle_of_a_line_lets_nobody_overtake(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "queue")
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    assert await states(sql) == ["running", "waiting", "waiting"]
    await sql.execute("delete from cronty.queue where scheduled_for = (select min(scheduled_for) from cronty.queue)")
    await hands.engine.rescuing.step()
    await hands.engine.claiming.step(hands.engine.worker)
    assert (await states(sql)).count("running") == 1


@pytest.mark.parametrize("overlap", ["skip", "queue", "cancel_previous"])
async def test_a_run_that_is_tried_again_keeps_the_next_slot_from_running_beside_it(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, database: Database, sql: Connection,
    overlap: str,
) -> None:  # fmt: skip
    opened, fails = threading.Event(), [True]

    def work() -> None:
        if fails:
            raise ValueError(fails.pop())
        assert opened.wait(20)

    registry.add(work)
    await hands.store.publish_tasks(registry.published())
    await add(door, task="work", policy={"overlap": overlap})
    clock.advance(minutes=1)
    await hands.fire()
    runs = Runs(RunStore(database), door)
    failed = await runs.failed(local_caller("ann"))
    assert isinstance(failed, Ok)
    await runs.redrive(local_caller("ann"), [failed.value[0].run.run_id])
    await hands.engine.claiming.step(hands.engine.worker)
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    await hands.engine.claiming.step(hands.engine.worker)
    assert (await states(sql)).count("running") == 1
    opened.set()
    await hands.finish()


async def test_a_run_asked_for_while_due_jobs_are_being_picked_keeps_the_slot_waiting(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection, gate: threading.Event
) -> None:
    """The pick has begun and not come to the job yet: it will lock the job's new row, and can't see the new run."""
    await add(door, name="picked first")
    job = await add(door, "interval", {"minutes": 2}, task="slow", policy={"overlap": "queue"})
    clock.advance(minutes=2)
    async with picking_held(sql):
        fire = asyncio.create_task(hands.engine.firing.step(hands.engine.worker))
        while not (fire.done() or await sql.fetchval("select exists (select from pg_locks where not granted)")):
            await asyncio.sleep(0.001)
        assert isinstance(await door.run_now(local_caller("ann"), job.number), Ok)
    await fire
    for _ in range(2):
        await hands.engine.firing.step(hands.engine.worker)
        await hands.engine.claiming.step(hands.engine.worker)
    mine = await sql.fetch("select state::text, manual from cronty.runs where job_id = $1 order by manual", job.id)
    assert [tuple(row) for row in mine] == [("waiting", False), ("running", True)]
    gate.set()
    await hands.finish()


async def test_a_job_that_allows_overlap_from_now_on_has_no_line(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    await two_slots(door, hands, clock, "queue")
    number = await sql.fetchval("select number from cronty.jobs")
    await door.edit(local_caller("ann"), EditJob(str(number), policy={"overlap": "allow"}))
    await hands.engine.claiming.step(hands.engine.worker)
    assert await states(sql) == ["running", "running"]


async def test_a_line_that_can_move_on_waits_for_no_other_owners_job(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, url: str, sql: Connection
) -> None:
    """A door of Ann's stands still while it holds her job; Bob's line moves on all the same."""
    for owner in ("ann", "bob"):
        await add(door, task="slow", owner=owner, policy={"overlap": "queue"})
    for _ in range(2):
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
    await lose_releases(hands, gate)
    held = await asyncpg.connect(url)
    await held.execute(
        "begin; select from cronty.due d join cronty.owners o on o.id = d.owner_id where o.name = 'ann' for update of d"
    )
    await hands.engine.rescuing.step()
    freed = await sql.fetch(
        "select o.name from cronty.queue q join cronty.owners o on o.id = q.owner_id where q.due_at is not null"
    )
    await held.close()
    assert [row["name"] for row in freed] == ["bob"]


async def test_one_long_line_keeps_no_other_from_moving_on(
    door: Scheduler, hands: Hands, clock: HandClock, gate: threading.Event, sql: Connection
) -> None:
    """Lines are looked at in lots, and counted by jobs, not by the runs in them."""
    for _ in range(3):
        await add(door, task="slow", policy={"overlap": "queue"})
    for _ in range(4):
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
    await lose_releases(hands, gate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "MOST", 2)
        for moved in (2, 3):
            await hands.engine.rescuing.step()
            assert await sql.fetchval("select count(*) from cronty.queue where due_at is not null") == moved


async def test_jobs_of_ended_keys_are_paused_though_lines_cannot_be_looked_at(
    door: Scheduler, hands: Hands, sql: Connection
) -> None:
    async def too_slow(*_: object) -> tuple[int, int]:
        raise StoreUnavailable("canceling statement due to statement timeout")

    await add(door)
    await sql.execute(
        "with k as (insert into cronty.api_keys (id, owner_id, number, name, hash, scopes, revoked_at, created_at)"
        " select 1, owner_id, 1, 'k', 'x', '{}', '2000-01-01', '2000-01-01' from cronty.jobs returning id)"
        " update cronty.jobs set key_id = (select id from k)"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EngineStore, "release_free_lines", too_slow)
        with pytest.raises(StoreUnavailable):
            await hands.engine.rescuing.step()
    assert await sql.fetchval("select state::text from cronty.jobs") == "paused"
