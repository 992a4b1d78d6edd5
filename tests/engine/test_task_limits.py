"""Limits of tasks across all workers: never more at once, never more a minute, and nothing that waits is lost."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import asyncpg
import pytest

from cronty import Cronty
from cronty.actions.tasks import Registry, RetryAfter
from cronty.app.assembly import queues_of
from cronty.scheduler import Scheduler
from cronty.settings import BadSetting
from cronty.store.database import query
from tests.conftest import START, HandClock, Hands, add, hands_of
from tests.engine.test_gates import count_statements
from tests.patience import PATIENCE

SOON: dict[str, object] = {"run_at": START + timedelta(seconds=1)}

CROWD = """
with made as (
  insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
  select o.id, 1000 + i, 'job', $1, '{"args": [], "kwargs": {}}', '{}', '{"attempts": 3}', '{}', now(), now()
  from cronty.owners o, generate_series(1, $3) i where o.name = $2
  returning id, owner_id
)
insert into cronty.due (job_id, owner_id, next_at, serial)
select id, owner_id, timestamptz '2027-03-01 08:00:01+00', true from made
"""


@dataclass(slots=True)
class Room:
    """Where tasks are at once; `busy` ends when it is let go."""

    inside: int = 0
    most: int = 0
    begun: int = 0
    hold: asyncio.Event = field(default_factory=asyncio.Event)

    async def busy(self) -> None:
        self.begun += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.hold.wait()
        finally:
            self.inside -= 1


def with_busy(room: Room, **settings: object) -> Registry:
    made = Registry()
    made.add(room.busy, **settings)  # pyright: ignore[reportArgumentType]
    return made


async def crowd(door: Scheduler, sql: asyncpg.Connection, count: int, task: str = "busy", owner: str = "ann") -> None:
    """So many jobs of an owner, due at once."""
    await add(door, "once", {"run_at": START + timedelta(days=300)}, owner=owner, task=task, name="first")
    await sql.execute(CROWD.replace("$1", f"'{task}'").replace("$2", f"'{owner}'").replace("$3", str(count)))


async def states(sql: asyncpg.Connection) -> dict[str, int]:
    rows = await sql.fetch("select state::text, count(*)::int as runs from cronty.runs group by 1")
    return {row["state"]: row["runs"] for row in rows}


async def turn(hands: Hands) -> None:
    """One step of each duty; nothing is waited for."""
    engine = hands.engine
    await engine.lease.claiming(engine.firing.step)
    await engine.lease.claiming(engine.claiming.step)
    await engine.lease.claiming(engine.limited.step)
    await asyncio.sleep(0)
    await engine.settling.step()


async def turns_until(done: Callable[[], bool], *all_hands: Hands) -> None:
    async with asyncio.timeout(PATIENCE):
        while not done():
            for hands in all_hands:
                await turn(hands)


@asynccontextmanager
async def fleet(url: str, clock: HandClock, registry: Registry, size: int) -> AsyncGenerator[list[Hands]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(hands_of(url, clock, registry)) for _ in range(size)]


async def test_no_more_runs_of_a_task_are_under_way_than_it_allows_over_all_workers(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    async with fleet(url, clock, with_busy(room, concurrency=5), 3) as workers:
        await crowd(door, sql, 40)
        clock.advance(seconds=3)
        await turns_until(lambda: room.inside == 5, *workers)
        for _ in range(3):
            for hands in workers:
                await turn(hands)
        assert room.inside == 5
        assert await states(sql) == {"running": 5, "waiting": 35}, "each slot has its run, and waits"
        room.hold.set()
        async with asyncio.timeout(PATIENCE):
            while (await states(sql)).get("done") != 40:
                for hands in workers:
                    await turn(hands)
    assert room.most == 5
    assert room.begun == 40


async def test_runs_of_a_killed_worker_keep_their_places_until_they_are_rescued(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, concurrency=2)
    async with hands_of(url, clock, registry) as killed, hands_of(url, clock, registry) as other:
        await crowd(door, sql, 4)
        clock.advance(seconds=3)
        await turns_until(lambda: room.inside == 2, killed)
        await turn(other)
        assert room.begun == 2
        killed.engine.working.interrupt(killed.engine.working.known())  # the process is gone; nothing is settled
        await asyncio.sleep(0)
        assert room.inside == 0
        await turn(other)
        assert room.begun == 2, "nobody knows yet that it is dead"
        await other.outlive(clock)
        room.hold.set()
        await other.claim()
    assert room.begun == 6
    assert await states(sql) == {"done": 4}


@pytest.mark.parametrize("end", ["delete from cronty.runs", "update cronty.runs set attempt = attempt + 1"])
async def test_a_place_is_free_when_its_run_is_not_under_way_any_more_whatever_became_of_it(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room, end: str
) -> None:
    async with hands_of(url, clock, with_busy(room, concurrency=1)) as hands:
        await crowd(door, sql, 2)
        clock.advance(seconds=3)
        await turns_until(lambda: room.inside == 1, hands)
        await turn(hands)
        assert room.inside == 1
        await sql.execute(f"{end} where state = 'running'")
        await turns_until(lambda: room.inside == 2, hands)
        room.hold.set()
        await hands.finish()
    assert await sql.fetchval("select count(*) from cronty.starts") <= 2


async def test_waiting_runs_of_another_owner_are_not_behind_all_of_a_greedy_one(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.engine.crowd.TURN_EVERY", 0)
    async with hands_of(url, clock, with_busy(room, concurrency=1)) as hands:
        await crowd(door, sql, 50, owner="greedy")
        modest = await add(door, "once", {"run_at": START + timedelta(seconds=2)}, owner="modest", task="busy")
        clock.advance(seconds=3)
        room.hold.set()
        for _ in range(5):
            await turn(hands)
        state = await sql.fetchval("select state::text from cronty.runs where job_id = $1", modest.id)
    assert state == "done"


async def test_the_youngest_worker_says_how_many_and_an_older_one_only_after_it_is_gone(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    said = "select at_once from cronty.task_limits where name = 'task:busy'"
    async with hands_of(url, clock, with_busy(room, concurrency=5)) as older:
        clock.advance(seconds=1)
        async with hands_of(url, clock, with_busy(room, concurrency=3)) as younger:
            assert await sql.fetchval(said) == 3
            await older.engine.fleetwide.step()
            assert await sql.fetchval(said) == 3
            await younger.engine.lease.leave()
        await older.engine.fleetwide.step()
        assert await sql.fetchval(said) == 5
        clock.advance(seconds=1)
        async with hands_of(url, clock, with_busy(room)):
            await older.engine.fleetwide.step()
        await crowd(door, sql, 9)
        clock.advance(seconds=3)
        await turns_until(lambda: room.inside == 9, older)  # the youngest says: no limit
        room.hold.set()
        await older.finish()


async def test_what_is_under_way_when_a_limit_is_first_said_counts_too(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    async with hands_of(url, clock, with_busy(room)) as older:
        await crowd(door, sql, 3)
        clock.advance(seconds=3)
        await turns_until(lambda: room.inside == 3, older)
        async with hands_of(url, clock, with_busy(room, concurrency=3)) as younger:
            await sql.execute("update cronty.due set next_at = $1 where next_at > $1", clock())
            await turn(younger)
            await turn(younger)
            assert room.inside == 3
            assert await states(sql) == {"running": 3, "waiting": 1}
            room.hold.set()
            await older.finish()
            await younger.claim()
    assert room.most == 3


async def test_a_shared_limit_counts_the_starts_of_any_minute(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, limit="model")

    async def ask() -> None:
        await room.busy()

    registry.add(ask, limit="model")
    registry.limit("model", per_minute=10)
    room.hold.set()
    async with fleet(url, clock, registry, 2) as workers:
        await crowd(door, sql, 20)
        await crowd(door, sql, 15, "ask", owner="bea")
        clock.advance(seconds=3)
        begun: list[int] = []
        for _ in range(8):
            for _ in range(3):
                for hands in workers:
                    await turn(hands)
                    await hands.finish()
            begun.append(room.begun)
            clock.advance(seconds=30)
    assert begun == [10, 10, 20, 20, 30, 30, 35, 35]
    assert await states(sql) == {"done": 35}


async def test_a_run_that_is_told_to_wait_holds_all_that_share_its_limit(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, limit="model")

    async def refused() -> None:
        raise RetryAfter("too many requests", timedelta(seconds=20))

    registry.add(refused, limit="model")
    room.hold.set()
    async with hands_of(url, clock, registry) as hands:
        await add(door, "once", SOON, task="refused")
        clock.advance(seconds=2)
        await hands.all()
        await crowd(door, sql, 5)
        hands.engine.firing.low.forget()  # they are due since before its last look
        clock.advance(seconds=10)
        await hands.all()
        assert room.begun == 0
        assert (await states(sql))["waiting"] == 5, "they wait, and haven't failed"
        clock.advance(seconds=15)
        await hands.all()
    assert room.begun == 5


async def test_a_run_holds_the_others_under_its_limit_for_a_day_at_most(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection
) -> None:
    registry = Registry()

    def told() -> None:
        raise RetryAfter("come back next year", timedelta(days=365))

    registry.add(told, limit="model")
    async with hands_of(url, clock, registry) as hands:
        await add(door, "once", SOON, task="told")
        clock.advance(seconds=2)
        await hands.all()
    held_until = await sql.fetchval("select held_until from cronty.task_limits where name = 'model'")
    assert timedelta(hours=23) < held_until - clock() <= timedelta(days=1)


async def test_a_task_with_both_limits_goes_by_the_narrower(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, concurrency=2, limit="model")
    registry.limit("model", at_once=4, per_minute=5)
    async with hands_of(url, clock, registry) as hands:
        await crowd(door, sql, 9)
        clock.advance(seconds=3)
        await turns_until(lambda: room.inside == 2, hands)
        await turn(hands)
        assert room.inside == 2
        room.hold.set()
        await turns_until(lambda: room.begun == 5, hands)
        await hands.claim()
        assert room.begun == 5
        clock.advance(seconds=60)
        await turns_until(lambda: room.begun == 9, hands)


async def test_two_engines_never_count_under_a_limit_at_the_same_time(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    async with hands_of(url, clock, with_busy(room, concurrency=5)) as hands:
        await crowd(door, sql, 9)
        clock.advance(seconds=3)
        await hands.engine.firing.step(hands.engine.worker)
        async with sql.transaction():
            await sql.fetch(query("lock_limits"), ["task:busy"])
            await hands.engine.limited.step(hands.engine.worker)
            assert room.begun == 0
        await hands.engine.limited.step(hands.engine.worker)
        assert room.begun == 5
        room.hold.set()
        await hands.claim()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"concurrency": 0}, "concurrency must be from 1"),
        ({"limit": "a:b"}, "letters, digits"),
        ({"limit": ""}, "letters, digits"),
        ({"queue": "a,b"}, "letters, digits"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_where_it_is_written(
    room: Room, settings: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        with_busy(room, **settings)


def test_a_limit_that_limits_nothing_is_refused(room: Room) -> None:
    with pytest.raises(ValueError, match="limits nothing"):
        with_busy(room).limit("model")


async def test_a_worker_performs_only_tasks_of_its_queues_and_leaves_the_others_to_theirs(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, queue="gpu")
    other = Room()
    registry.add(other.busy, "usual")
    room.hold.set()
    other.hold.set()
    async with (
        hands_of(url, clock, registry, queues=("default",)) as ordinary,  # pyright: ignore[reportArgumentType]
        hands_of(url, clock, registry, queues=("gpu", "big")) as special,  # pyright: ignore[reportArgumentType]
    ):
        await add(door, "once", SOON, task="busy")
        await add(door, "once", SOON, task="usual", name="b job")
        clock.advance(seconds=2)
        await ordinary.all()
        assert (room.begun, other.begun) == (0, 1)
        await special.all()
        assert (room.begun, other.begun) == (1, 1)
        await add(door, "once", {"run_at": clock() + timedelta(seconds=1)}, task="usual", name="c job")
        clock.advance(seconds=2)
        await special.all()
        assert other.begun == 1, "it was fired there, and waits"
        await ordinary.all()
    assert other.begun == 2


async def test_a_worker_that_chooses_no_queue_performs_all(
    url: str, door: Scheduler, clock: HandClock, room: Room
) -> None:
    room.hold.set()
    async with hands_of(url, clock, with_busy(room, queue="gpu")) as hands:
        await add(door, "once", SOON, task="busy")
        clock.advance(seconds=2)
        await hands.fire()
    assert room.begun == 1


def test_queues_of_a_worker_come_from_the_program_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert queues_of(Cronty("postgresql://x", queues=["gpu", "big"]).settings) == ("gpu", "big")
    monkeypatch.setenv("CRONTY_QUEUES", "gpu, default")
    assert queues_of(Cronty("postgresql://x").settings) == ("gpu", "default")
    monkeypatch.setenv("CRONTY_QUEUES", "gpu; big")
    with pytest.raises(BadSetting, match="CRONTY_QUEUES"):
        Cronty("postgresql://x")


async def test_a_task_of_another_owner_is_not_behind_all_runs_of_a_greedy_one_under_the_limit_they_share(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.engine.crowd.TURN_EVERY", 0)
    registry = with_busy(room, limit="model")
    registry.add(room.busy, "ask", limit="model")
    registry.limit("model", at_once=1)
    async with hands_of(url, clock, registry) as hands:
        await crowd(door, sql, 50, owner="greedy")
        room.hold.set()
        clock.advance(seconds=3)
        await turn(hands)
        modest = await add(door, "once", {"run_at": clock() + timedelta(seconds=1)}, owner="modest", task="ask")
        clock.advance(seconds=2)
        for _ in range(5):
            await turn(hands)
        state = await sql.fetchval("select state::text from cronty.runs where job_id = $1", modest.id)
    assert state == "done"
    assert room.most == 1


async def test_what_another_program_has_under_way_counts_when_a_limit_gets_its_figures(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    named = with_busy(room, limit="model")
    figures = Registry()
    figures.add(room.busy, "ask", limit="model")
    figures.limit("model", at_once=3)
    async with hands_of(url, clock, named) as older:
        await crowd(door, sql, 3)
        clock.advance(seconds=3)
        await turns_until(lambda: room.inside == 3, older)
        async with hands_of(url, clock, figures) as younger:
            await add(door, "once", {"run_at": clock() + timedelta(seconds=1)}, task="ask")
            clock.advance(seconds=2)
            await turn(younger)
            await turn(younger)
            assert room.inside == 3
            room.hold.set()
            await older.finish()
            await younger.claim()
    assert (room.most, room.begun) == (3, 4)


async def test_a_clock_that_was_set_back_hides_nothing_that_is_under_way(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    async with fleet(url, clock, with_busy(room, concurrency=1), 2) as [one, other]:
        await crowd(door, sql, 2)
        clock.advance(hours=2)
        await one.fire()
        await other.engine.fleetwide.look()
        async with sql.transaction():
            await sql.fetch("select from cronty.queue for update")
            await turn(other)  # it has counted now, and found nothing to claim
        clock.advance(hours=-1)
        await sql.execute("update cronty.queue set due_at = $1", clock())
        await turns_until(lambda: room.inside == 1, one)
        await turn(other)
        assert room.inside == 1
        room.hold.set()
        await one.finish()


async def test_starts_of_a_clock_that_was_ahead_do_not_fill_a_limit_until_that_time_has_come(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, limit="model")
    registry.limit("model", per_minute=2)
    room.hold.set()
    async with hands_of(url, clock, registry) as hands:
        await crowd(door, sql, 4)
        clock.advance(days=1)
        await hands.all()
        assert room.begun == 2
        clock.advance(days=-1)
        clock.advance(minutes=3)
        await sql.execute("update cronty.queue set due_at = $1", clock())
        await hands.all()
    assert room.begun == 4


async def test_tasks_without_limits_send_the_same_statements_whatever_is_said_of_others(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.hold.set()
    with_others = with_busy(room)
    with_others.add(room.busy, "ask", limit="model", concurrency=2)
    with_others.add(room.busy, "alarm", priority="urgent")
    with_others.limit("model", per_minute=100)
    sent = count_statements(monkeypatch, sql)
    seen: list[list[str]] = []
    for made in (with_busy(room), with_others):
        async with hands_of(url, clock, made) as hands:
            await add(door, "once", {"run_at": clock() + timedelta(seconds=1)}, task="busy", name=f"job {len(seen)}")
            clock.advance(seconds=2)
            sent.clear()
            for step in (hands.engine.firing.step, hands.engine.claiming.step):
                await hands.engine.lease.claiming(step)
            await hands.finish()
            seen.append(list(sent))
    assert seen[0] == seen[1]
    assert room.begun == 2
