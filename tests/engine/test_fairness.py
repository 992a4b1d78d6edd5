"""One owner's crowd doesn't make the others wait."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.engine.attempt import Attempt
from cronty.engine.crowd import Crowd
from cronty.engine.firing import LowWater
from cronty.engine.runs_left import left_by_limits, left_by_shares
from cronty.engine.working import Working
from cronty.jobs.policy import Policy
from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add, hands_of
from tests.patience import PATIENCE

CROWD = """
insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
select o.id, 1000 + i, 'job', $1, '{"args": [], "kwargs": {}}', '{}', '{}', '{}', now(), now()
from cronty.owners o, generate_series(1, 2000) i where o.name = 'greedy';
"""


async def crowd(door: Scheduler, sql: asyncpg.Connection, task: str = "note") -> int:
    """Two thousand jobs of one owner due now; and one of another, due a moment later."""
    await add(door, "once", {"run_at": START + timedelta(days=1)}, owner="greedy")
    await sql.execute(CROWD.replace("$1", f"'{task}'"))
    await sql.execute(
        "insert into cronty.due (job_id, owner_id, next_at, serial)"
        " select id, owner_id, timestamptz '2027-03-01 08:00:01+00', true from cronty.jobs where name = 'job'"
    )
    return (await add(door, "once", {"run_at": START + timedelta(seconds=2)}, owner="modest")).id


async def state(sql: asyncpg.Connection, job_id: int) -> str | None:
    return await sql.fetchval("select state from cronty.runs where job_id = $1", job_id)


async def test_what_another_owner_has_due_is_fired_before_the_crowd_is_through(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, clock: HandClock
) -> None:
    job_id = await crowd(door, sql)
    clock.advance(seconds=3)
    await hands.engine.firing.step(hands.engine.worker)
    assert await state(sql, job_id) is None, "it isn't its turn by its time"
    await hands.engine.firing.step(hands.engine.worker)
    await hands.finish()
    assert await state(sql, job_id) == "done"
    await hands.fire()
    assert await sql.fetchval("select count(*) from cronty.runs where state = 'done'") == 2001, "and the crowd too"


async def test_what_another_owner_has_waiting_is_claimed_before_the_crowd_is_through(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, clock: HandClock
) -> None:
    job_id = await crowd(door, sql)
    clock.advance(seconds=3)
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state)"
        " select job_id, next_at, owner_id, 'waiting' from cronty.due where next_at < '2027-03-01 09:00+00';"
        "insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)"
        " select job_id, next_at, next_at, owner_id, 'note' from cronty.due where next_at < '2027-03-01 09:00+00';"
        "update cronty.due set next_at = null"
    )
    await hands.engine.claiming.step(hands.engine.worker)
    assert await state(sql, job_id) == "waiting"
    await hands.engine.claiming.step(hands.engine.worker)
    await hands.finish()
    assert await state(sql, job_id) == "done"
    await hands.claim()
    assert await sql.fetchval("select count(*) from cronty.queue") == 0


@pytest.fixture
def hold(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Until it is set the task `wait` takes its time; `greet` takes none. Nobody's turn is far."""
    monkeypatch.setattr("cronty.engine.working.PATIENCE", 0.01)
    monkeypatch.setattr("cronty.engine.crowd.TURN_EVERY", 0)
    event = asyncio.Event()

    async def wait() -> None:
        await event.wait()

    async def greet() -> None:
        pass

    registry.add(wait)
    registry.add(greet)
    return event


async def test_slow_tasks_of_one_owner_that_hold_all_places_do_not_hold_up_another(
    url: str, door: Scheduler, registry: Registry, clock: HandClock, sql: asyncpg.Connection, hold: asyncio.Event
) -> None:
    async with hands_of(url, clock, registry, concurrency=2) as hands:
        for number in range(6):
            due: dict[str, object] = {"run_at": START + timedelta(seconds=1)}
            await add(door, "once", due, owner="greedy", task="wait", name=f"slow {number}")
        modest = await add(door, "once", {"run_at": START + timedelta(seconds=2)}, owner="modest", task="greet")
        clock.advance(seconds=3)
        engine, slow = hands.engine, 0
        async with asyncio.timeout(PATIENCE):
            while await state(sql, modest.id) != "done" or slow < 6:  # the slow ones are fired too, and wait
                await engine.firing.step(engine.worker)
                await engine.claiming.step(engine.worker)
                await engine.settling.step()
                slow = await sql.fetchval("select count(*) from cronty.runs where state in ('running', 'waiting')")
        hold.set()
        await hands.finish()
        await hands.claim()
    assert await sql.fetchval("select count(*) from cronty.runs where state = 'done'") == 7


async def test_several_owners_whose_slow_tasks_take_all_they_can_get_do_not_hold_up_one_more(
    url: str, door: Scheduler, registry: Registry, clock: HandClock, sql: asyncpg.Connection, hold: asyncio.Event
) -> None:
    async with hands_of(url, clock, registry, concurrency=8) as hands:
        for seconds, owner in enumerate(("first", "second", "third"), 1):
            due: dict[str, object] = {"run_at": START + timedelta(seconds=seconds)}
            for number in range(16):
                await add(door, "once", due, owner=owner, task="wait", name=f"slow {number}")
        modest = await add(door, "once", {"run_at": START + timedelta(seconds=9)}, owner="modest", task="greet")
        clock.advance(seconds=10)
        engine = hands.engine
        async with asyncio.timeout(PATIENCE):
            while await state(sql, modest.id) != "done":
                await engine.firing.step(engine.worker)
                await engine.claiming.step(engine.worker)
                await engine.settling.step()
        running = await sql.fetch(
            "select o.name, count(*) from cronty.runs r join cronty.owners o on o.id = r.owner_id"
            " where r.state = 'running' group by 1"
        )
        holding: dict[str, int] = {row["name"]: row["count"] for row in running}
        assert holding["first"] >= 8
        assert 0 < holding["second"] <= 4, "half of the eight places that the first leaves to others"
        hold.set()
        await hands.finish()
        await hands.claim()
    assert await sql.fetchval("select count(*) from cronty.runs where state = 'done'") == 49


def test_no_owner_gets_more_than_half_of_what_the_others_leave() -> None:
    places: Counter[int] = Counter()
    for owner in range(1, 9):
        for _ in range(3):  # whoever has its half gets no more
            left = left_by_shares(100 - places.total(), places)
            while left.take(owner):
                places[owner] += 1
    assert list(places.values()) == [50, 25, 13, 6, 3, 2, 1], "the eighth finds none"


def test_whose_limit_is_lower_than_its_share_gets_its_limit() -> None:
    both = left_by_shares(10, {1: 2}).within(left_by_limits(0, {1: 3, 2: 9}, {1: 2, 2: 2}))
    assert [both.of(owner) for owner in (1, 2, 3)] == [1, 5, 5]


async def test_who_comes_in_a_turn_of_their_own_goes_before_the_line(registry: Registry) -> None:
    began: list[int] = []
    hold = asyncio.Event()

    async def wait(number: int) -> None:
        began.append(number)
        await hold.wait()

    task = registry.add(wait)
    working = Working(1, lambda: None)

    def attempt(number: int) -> Attempt:
        arguments = f'{{"args": [{number}], "kwargs": {{}}}}'
        return Attempt(number, START, 1, 1, task, arguments, Policy(), failing=False, owner_id=1, job_number=number)

    working.take([attempt(1), attempt(2), attempt(3)])
    assert working.reserve(5) == 1, "room for as many as are performed at once"
    assert working.reserve(5, beyond=True) == 1, "and for others as many again"
    working.take([attempt(4), attempt(5)], first=True)
    assert began == [1, 4], "as many again may start beyond those that hold the places, and no more"
    hold.set()
    async with asyncio.timeout(PATIENCE):
        while len(began) < 5:
            await asyncio.sleep(0)
    assert began == [1, 4, 5, 2, 3]
    working.close()


async def test_who_was_claimed_behind_slow_tasks_of_another_owner_is_let_through(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.engine.working.PATIENCE", 0.01)
    began: list[int] = []
    hold = asyncio.Event()

    async def wait(number: int) -> None:
        began.append(number)
        await hold.wait()

    task = registry.add(wait)
    working = Working(1, lambda: None)

    def attempt(number: int, owner: int) -> Attempt:
        arguments = f'{{"args": [{number}], "kwargs": {{}}}}'
        return Attempt(number, START, 1, 1, task, arguments, Policy(), failing=False, owner_id=owner, job_number=number)

    working.reserve(1)
    working.take([attempt(1, owner=1), attempt(2, owner=1), attempt(3, owner=2)])
    assert began == [1]
    assert not await working.wait_for_place(Crowd())
    assert began == [1, 3]
    hold.set()
    async with asyncio.timeout(PATIENCE):
        while len(began) < 3:
            await asyncio.sleep(0)
    assert began == [1, 3, 2]
    working.close()


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets time pass for a crowd."""
    now = [100.0]
    monkeypatch.setattr("cronty.engine.crowd.monotonic", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def test_a_crowd_is_left_out_every_quarter_second_and_forgotten_after_one(passing: Callable[[float], None]) -> None:
    seen = Crowd()
    assert seen.turn() == set()
    seen.saw([1] * 300 + [2] * 150 + list(range(3, 53)))
    assert seen.turn() == {1, 2}
    assert seen.turn() == set(), "once in a while"
    passing(0.26)
    assert seen.turn() == {1, 2}
    passing(1.1)
    assert seen.turn() == set(), "the crowd has gone"


def test_a_first_look_that_takes_long_does_not_put_off_the_next_one(passing: Callable[[float], None]) -> None:
    seen = Crowd()
    seen.saw([1] * 500)
    assert seen.turn() == {1}
    passing(0.2)
    seen.looked(since=100.0)
    passing(0.26)
    assert seen.turn() == {1}, "it begins where the first one ended"


def test_who_was_left_out_comes_back_only_when_a_look_may_begin_anew(passing: Callable[[float], None]) -> None:
    seen = Crowd()
    seen.saw([1] * 500)
    assert seen.turn() == {1}
    passing(0.2)
    seen.looked(since=100.0)  # so none may begin anew for 1.8 seconds
    passing(0.9)
    seen.saw([2] * 500)
    assert seen.turn() == {1, 2}, "and begins where the last one ended"
    passing(0.95)
    seen.saw([2] * 500)
    assert seen.turn() == {2}


def test_a_look_begins_where_the_last_one_ended_that_left_out_none_but_the_same() -> None:
    low = LowWater()
    low.found(START, 0)
    later = START + timedelta(seconds=5)
    low.found_without(frozenset({1}), later, 0)
    assert low.bound_without(frozenset({1, 2})) == later
    assert low.bound_without(frozenset({2})) == START, "what is the first one's may be due before that"
    low.lower(START + timedelta(seconds=1))
    assert low.bound_without(frozenset({1})) == START + timedelta(seconds=1)


def test_many_owners_with_a_little_each_are_no_crowd() -> None:
    seen = Crowd()
    seen.saw(range(500))
    assert seen.turn() == set()
