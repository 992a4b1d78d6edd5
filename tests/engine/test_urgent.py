"""Urgent tasks go before all that isn't urgent, and the others don't pay for it."""

import asyncio
import re
from datetime import timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.scheduler import Scheduler
from cronty.store.database import query
from tests.conftest import START, HandClock, Hands, add, hands_of
from tests.engine.test_task_limits import Room, crowd, states, turn, with_busy
from tests.patience import PATIENCE

LATER: dict[str, object] = {"run_at": START + timedelta(seconds=2)}


async def hurry(hands: Hands) -> None:
    """One step of the duty for urgent tasks."""
    engine = hands.engine
    await engine.lease.claiming(engine.urgent_step)
    await asyncio.sleep(0)
    await engine.settling.step()


def with_urgent(room: Room, *, plain: bool = False, **settings: object) -> tuple[Registry, list[int]]:
    """A slow ordinary task, and an urgent one that notes how many are busy when it begins."""
    registry, seen = with_busy(room), list[int]()

    async def alarm() -> None:
        seen.append(room.inside)

    def plain_alarm() -> None:
        seen.append(room.inside)

    registry.add(plain_alarm if plain else alarm, "alarm", priority="urgent", **settings)  # pyright: ignore[reportArgumentType]
    return registry, seen


async def due_urgent(sql: asyncpg.Connection) -> list[bool]:
    rows = await sql.fetch(
        "select coalesce(d.urgent, false) as urgent from cronty.due d join cronty.jobs j on j.id = d.job_id"
        " order by j.id"
    )
    return [row["urgent"] for row in rows]


@pytest.mark.parametrize("plain", [False, True])
async def test_an_urgent_job_that_is_due_goes_before_the_backlog_and_needs_no_free_place(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room, plain: bool
) -> None:
    registry, seen = with_urgent(room, plain=plain)
    async with hands_of(url, clock, registry, concurrency=3) as hands:
        await crowd(door, sql, 1000)
        await add(door, "once", LATER, task="alarm", owner="ann")
        clock.advance(seconds=3)
        await hands.engine.lease.claiming(hands.engine.firing.step)
        assert room.inside == 3
        async with asyncio.timeout(PATIENCE):
            while not seen:
                await hurry(hands)
        assert seen == [3], "all places are taken by others"
        assert await sql.fetchval("select count(*) from cronty.due where next_at is not null") > 500, "those wait"
        room.hold.set()
        await hands.finish()


async def test_an_urgent_run_that_waits_is_claimed_before_the_others_that_wait(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.engine.working.PATIENCE", 0.01)
    registry, seen = with_urgent(room)
    async with hands_of(url, clock, registry, concurrency=3) as hands:
        await crowd(door, sql, 30)
        await add(door, "once", {"run_at": START + timedelta(seconds=1)}, task="alarm", owner="ann")
        clock.advance(seconds=3)
        await hands.engine.lease.claiming(hands.engine.firing.step)
        async with asyncio.timeout(PATIENCE):
            while not await sql.fetchval("select count(*) from cronty.queue where task = 'alarm'"):
                await hands.engine.lease.claiming(hands.engine.firing.step)
        assert await states(sql) == {"running": 3, "waiting": 28}, "the look for all others came across it"
        await hurry(hands)
        assert seen == [3]
        room.hold.set()
        await hands.finish()


async def test_an_urgent_task_under_a_limit_goes_first_when_there_is_room(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, limit="model")
    order: list[str] = []

    async def alarm() -> None:
        order.append("alarm")

    async def report() -> None:
        order.append("report")

    registry.add(alarm, limit="model", priority="urgent")
    registry.add(report, limit="model")
    registry.limit("model", at_once=1)
    async with hands_of(url, clock, registry) as hands:
        await add(door, "once", {"run_at": START + timedelta(seconds=1)}, task="busy", name="first")
        clock.advance(seconds=1)
        await turn(hands)
        assert room.inside == 1
        await add(door, "once", LATER, task="report", name="second")
        await add(door, "once", {"run_at": START + timedelta(seconds=3)}, task="alarm", name="third")
        clock.advance(seconds=3)
        await turn(hands)
        assert (await states(sql)) == {"running": 1, "waiting": 2}
        room.hold.set()
        await hands.finish()
        await hands.claim()
        await hands.claim()
    assert order == ["alarm", "report"]


async def test_what_is_urgent_is_noted_in_jobs_that_are_made_and_in_those_there_are(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.engine.fleetwide.PAGE", 2)
    async with hands_of(url, clock, with_busy(room)):
        for name in ("a", "b", "c"):
            await add(door, task="busy", name=name)
    assert await due_urgent(sql) == [False, False, False]
    clock.advance(seconds=1)
    async with hands_of(url, clock, with_busy(room, priority="urgent")) as hands:
        await hands.engine.fleetwide.step()
        await add(door, task="busy", name="d")
    assert await due_urgent(sql) == [True] * 4
    clock.advance(seconds=1)
    async with hands_of(url, clock, with_busy(room)) as hands:
        await hands.engine.fleetwide.step()
        assert await due_urgent(sql) == [False] * 4
        assert not hands.engine.fleetwide.has_urgent


@pytest.mark.parametrize(("usual", "alone"), [("pick_due", "pick_urgent"), ("next_due", "next_urgent")])
def test_urgent_jobs_are_found_as_all_others_are(usual: str, alone: str) -> None:
    def said(name: str) -> str:
        return re.sub(r"(?m)^--.*\n", "", query(name))

    assert "where urgent and next_at" in said(alone)
    assert said(alone).replace("where urgent and next_at", "where next_at") == said(usual)


def test_a_priority_that_there_is_not_is_refused(room: Room) -> None:
    with pytest.raises(ValueError, match="'urgent' or 'ordinary'"):
        with_busy(room, priority="high")


async def test_very_many_urgent_runs_leave_the_others_their_places(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, priority="urgent")
    begun: list[str] = []

    async def report() -> None:
        begun.append("report")

    registry.add(report)
    async with hands_of(url, clock, registry, concurrency=2) as hands:
        await add(door, "once", {"run_at": START + timedelta(days=300)}, task="busy", name="none")
        await crowd(door, sql, 30)
        await sql.execute("update cronty.due set urgent = true where next_at is not null")
        await add(door, "once", LATER, task="report", name="report")
        clock.advance(seconds=3)
        async with asyncio.timeout(PATIENCE):
            while room.inside < 2:
                await hurry(hands)
        for _ in range(3):
            await hurry(hands)
        assert room.inside == 2, "they have places of their own, and no more"
        async with asyncio.timeout(PATIENCE):
            while not begun:
                await turn(hands)
        room.hold.set()
        await hands.finish()


async def test_others_have_their_part_of_a_limit_under_which_urgent_runs_never_end(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, room: Room
) -> None:
    registry = with_busy(room, limit="model", priority="urgent")
    order: list[int] = []

    async def report() -> None:
        order.append(room.begun)

    registry.add(report, limit="model")
    registry.limit("model", at_once=1)
    room.hold.set()
    async with hands_of(url, clock, registry) as hands:
        await crowd(door, sql, 30)
        for name in ("first", "second"):
            await add(door, "once", LATER, task="report", name=name)
        clock.advance(seconds=3)
        async with asyncio.timeout(PATIENCE):
            while len(order) < 2:
                await turn(hands)
                await hands.finish()
    assert order == [4, 8]
