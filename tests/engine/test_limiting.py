"""What goes over an owner's limits by the hour is skipped, and the owner hears of it once."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob, TriggerType
from cronty.contract.result import Ok
from cronty.engine.claiming import LATEST_COMMIT, QueueBounds
from cronty.engine.limiting import RunCounts
from cronty.engine.runs_left import left_by_limits
from cronty.jobs.job import Job
from cronty.jobs.limits import Limits, wakes_of
from cronty.scheduler import Scheduler
from cronty.store.database import Database, query
from cronty.store.engine_store import DueJobs
from cronty.store.limit_store import LimitStore
from tests.conftest import START, HandClock, Hands, add, hands_of, look
from tests.patience import PATIENCE

WAKES = "over the limit of 3 wakes an hour for agent claude"


async def states(sql: asyncpg.Connection) -> dict[tuple[str, str | None], int]:
    rows = await sql.fetch("select state::text, reason, count(*) from cronty.runs group by 1, 2")
    return {(row[0], row[1]): row[2] for row in rows}


async def prompt(door: Scheduler, agent: str, trigger: TriggerType = "interval", **config: object) -> Job:
    request = ScheduleJob("look", "prompt", trigger, config, kwargs={"prompt": "Look", "agent": agent})
    result = await door.schedule(local_caller("ann"), request)
    assert isinstance(result, Ok), result
    return result.value


def wake(prompt: str, agent: str) -> None: ...


async def minutes(count: int, hands: Hands, clock: HandClock) -> None:
    for _ in range(count):
        clock.advance(minutes=1)
        await hands.all()
        hands.engine.firing.low.forget()


@pytest.mark.parametrize("woken", ["by its inbox", "by a worker"])
async def test_wakes_beyond_the_limit_are_skipped_until_the_next_hour(
    door: Scheduler, registry: Registry, hands: Hands, clock: HandClock, sql: asyncpg.Connection, woken: str
) -> None:
    if woken == "by a worker":
        registry.add(wake, "prompt:claude")
        await hands.engine.enlist()
    await door.allowance.set(local_caller("ann"), {"wakes_per_hour": 3})
    job = await prompt(door, "claude", minutes=1)
    assert job.action.task == ("prompt" if woken == "by its inbox" else "prompt:claude")
    other = await prompt(door, "codex", minutes=30)
    for _ in range(5):
        await minutes(1, hands, clock)
        await sql.execute("delete from cronty.queue")  # as if the agent had settled it
        await sql.execute("update cronty.runs set state = 'done', finished_at = now() where state = 'waiting'")
    assert await states(sql) == {("done", None): 3, ("skipped", WAKES): 2}
    assert await sql.fetchval(
        "select after ->> 'reason' from cronty.audit_unsealed where what = 'held by a limit'"
    ) == (f"Slots are skipped until the hour is over: {WAKES}.")
    await minutes(26, hands, clock)
    assert (await look(door, other)).run_count == 1, "another agent is another budget"
    clock.moment = START + timedelta(minutes=59, seconds=30)
    await hands.all()
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed where what = 'held by a limit'") == 1, (
        "said once"
    )
    await minutes(1, hands, clock)
    assert (await look(door, job)).run_count == 4, "a new hour"


async def test_a_one_off_that_is_held_says_why(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await door.allowance.set(local_caller("ann"), {"wakes_per_hour": 3, "alert": "ann-phone"})
    jobs = [await prompt(door, "claude", "once", run_at=START + timedelta(seconds=n)) for n in range(1, 6)]
    clock.advance(minutes=1)
    await hands.fire()
    seen = [await look(door, job) for job in jobs]
    assert [job.status for job in seen] == ["running"] * 3 + ["failed"] * 2
    assert seen[-1].last_error == f"skipped: {WAKES}"
    assert await sql.fetchval("select count(*) from cronty.slots_unaccounted where why not like 'due %'") == 0
    [said] = await sql.fetch("select arguments #>> '{kwargs,topic}' from cronty.alerts")
    assert said[0] == "ann-phone"


async def test_a_door_that_stalls_in_its_transaction_keeps_nobody_from_firing(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    """It has written to the trail, counted a use and changed the limits of ann, and then nothing more comes of it."""
    await door.allowance.set(local_caller("ann"), {"wakes_per_hour": 3, "alert": "ann-phone"})
    jobs = [await prompt(door, "claude", "once", run_at=START + timedelta(seconds=n)) for n in range(1, 6)]
    other = await add(door, owner="bob")
    await LimitStore(database).count_use("ann", wakes_of("claude"), START)
    stalled = sql.transaction()
    await stalled.start()
    await sql.execute("insert into cronty.audit_unsealed (at, owner_id, what) values (now(), 1024, 'slow')")
    await sql.fetchval(query("count_use"), "ann", wakes_of("claude"), START, 1)
    await sql.execute(query("save_limits"), "ann", '{"wakes_per_hour": 4}', "{}", "{}", START)
    await sql.execute("select from cronty.owners for update")
    clock.advance(minutes=1)
    async with asyncio.timeout(5):
        await hands.fire()
    await stalled.commit()
    seen = [await look(door, job) for job in jobs]
    assert [job.status for job in seen] == ["running"] * 2 + ["failed"] * 3, "one wake was counted at the door"
    assert (await look(door, other)).run_count == 1
    assert await sql.fetchval("select count(*) from cronty.alerts") == 1
    used = await LimitStore(database).usage("ann", START, START, START)
    assert used == {"wakes claude": 7}, "what the door counted and what the engine did"


async def test_a_transaction_that_nothing_more_comes_of_is_ended_by_the_database(database: Database) -> None:
    async with database.of("ann").transaction() as connection:
        assert await connection.fetchval("show idle_in_transaction_session_timeout") == "10s"


async def test_runs_are_counted_for_an_owner_that_has_such_a_limit(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, calls: list[tuple[object, ...]]
) -> None:
    await door.allowance.set(local_caller("ann"), {"runs_per_hour": 10})
    for number in range(4):
        await add(door, name=f"job {number}")
        await add(door, owner="bob", name=f"job {number}")
    await minutes(5, hands, clock)
    anns = await sql.fetch(
        "select r.state::text, r.reason, count(*) from cronty.runs r join cronty.owners o on o.id = r.owner_id"
        " where o.name = 'ann' group by 1, 2 order by 1"
    )
    assert [tuple(row) for row in anns] == [("done", None, 10), ("skipped", "over the limit of 10 runs an hour", 10)]
    assert len(calls) == 10 + 20
    assert hands.engine.working.in_flight == 0


async def test_far_from_the_limit_runs_are_counted_in_memory_and_written_later(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await door.allowance.set(local_caller("ann"), {"runs_per_hour": 10})
    await add(door)
    await minutes(4, hands, clock)
    assert await sql.fetchval("select count(*) from cronty.usage") == 0
    await hands.engine.limiting.write()
    assert await sql.fetchval("select used from cronty.usage") == 4
    await hands.engine.limiting.write()
    assert await sql.fetchval("select used from cronty.usage") == 4, "once"
    await minutes(2, hands, clock)
    assert await sql.fetchval("select used from cronty.usage") == 6, "from half of it on, at once"


@asynccontextmanager
async def refusing(sql: asyncpg.Connection, table: str) -> AsyncGenerator[None]:
    """PostgreSQL takes no new rows in this table."""
    await sql.execute(
        "create or replace function cronty.refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'made up'; end $$"
    )
    await sql.execute(f"create trigger refuse before insert on cronty.{table} execute function cronty.refuse()")
    try:
        yield
    finally:
        await sql.execute("drop function cronty.refuse cascade")


async def test_a_batch_that_is_undone_uses_up_no_runs(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, calls: list[tuple[object, ...]]
) -> None:
    await door.allowance.set(local_caller("ann"), {"runs_per_hour": 10})
    for number in range(3):
        await add(door, name=f"job {number}")
    clock.advance(minutes=1)
    async with refusing(sql, "runs"):
        for _ in range(20):
            with pytest.raises(asyncpg.RaiseError):
                await hands.engine.firing.step(hands.engine.worker)
        await hands.engine.limiting.write()
    assert await sql.fetchval("select count(*) from cronty.usage") == 0
    await hands.all()
    await minutes(1, hands, clock)
    assert len(calls) == 6
    assert await states(sql) == {("done", None): 6}


async def test_counts_that_could_not_be_written_are_kept(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await door.allowance.set(local_caller("ann"), {"runs_per_hour": 10})
    await add(door)
    await minutes(4, hands, clock)
    async with refusing(sql, "usage"):
        with pytest.raises(asyncpg.RaiseError):
            await hands.engine.limiting.write()
    await hands.engine.limiting.write()
    assert await sql.fetchval("select used from cronty.usage") == 4


def added(counts: RunCounts, hour: datetime, runs: int) -> int:
    """Count runs of owner 1, whose limit is 100, in a batch that is committed."""
    with counts.batch() as batch:
        return batch.add(1, hour, runs, 100)


def test_counts_of_an_hour_that_is_over_are_written_to_that_hour() -> None:
    counts, later = RunCounts(), START + timedelta(hours=1)
    assert added(counts, START, 3) == 0
    assert added(counts, START, 2) == 0
    assert added(counts, later, 1) == 0
    assert counts.take() == [(1, "runs", START, 5), (1, "runs", later, 1)]
    assert counts.take() == []
    counts.know(1, 49)
    assert added(counts, later, 1) == 0
    assert added(counts, later, 1) == 2, "with the one that was not written"


def test_a_batch_that_is_undone_gives_back_what_it_took_of_others() -> None:
    counts = RunCounts()
    assert added(counts, START, 40) == 0
    with suppress(ZeroDivisionError), counts.batch() as batch:
        assert batch.add(1, START, 20, 100) == 60
        assert counts.take() == [], "another batch doesn't write them too"
        raise ZeroDivisionError
    assert counts.take() == [(1, "runs", START, 40)]


def test_room_is_what_the_limit_leaves() -> None:
    runs_left = left_by_limits(2, {7: 0, 8: 1}, {1: 1, 8: 1, 9: 5})
    assert [runs_left.take(1), runs_left.take(1)] == [True, False]
    assert [runs_left.take(2), runs_left.take(2), runs_left.take(2)] == [True, True, False], (
        "nothing of theirs runs yet"
    )
    assert all(runs_left.take(7) for _ in range(100)), "without a limit of any kind"
    assert not runs_left.take(8)
    assert sorted(runs_left.full()) == [1, 2, 8, 9]


def test_claims_go_on_where_the_last_one_ended_that_left_out_none_but_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("cronty.engine.claiming.monotonic", lambda: now[0])
    bounds, seen = QueueBounds(), START - LATEST_COMMIT
    bounds.through(0, frozenset({1}), START)
    assert bounds.bound(0, frozenset({1, 2})) == seen, "what began to wait just now may not have been seen"
    assert bounds.bound(1, frozenset({1, 2})) is None, "what has crashed stands elsewhere"
    assert bounds.bound(0, frozenset()) is None, "what waits longer may be run again"
    bounds.through(0, frozenset({1, 2}), START + timedelta(seconds=1))
    assert bounds.bound(0, frozenset({1})) == seen, "what the second one has may wait since then"
    now[0] += 6
    bounds.through(0, frozenset({1}), START + timedelta(seconds=6))
    assert bounds.bound(0, frozenset({1})) == seen + timedelta(seconds=6)
    now[0] += 6
    assert bounds.bound(0, frozenset({1})) is None, "all is looked at every ten seconds"


async def test_only_owners_of_a_batch_that_have_a_limit_are_counted(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[int]] = []
    count = DueJobs.running_by_owner

    async def counted(self: DueJobs, owner_ids: Collection[int]) -> dict[int, int]:
        asked.append(set(owner_ids))
        return await count(self, owner_ids)

    monkeypatch.setattr(DueJobs, "running_by_owner", counted)
    await door.allowance.set(local_caller("ann"), {"concurrent_runs": 3})
    await add(door, owner="bob")
    await minutes(1, hands, clock)
    assert asked == [], "nobody else's limit costs him anything"
    await add(door)
    await minutes(1, hands, clock)
    assert asked == [{await sql.fetchval("select id from cronty.owners where name = 'ann'")}]
    assert await sql.fetchval("select count(*) from cronty.runs where state = 'done'") == 3


@pytest.mark.parametrize("whose", ["the owner's own", "the installation's"])
async def test_no_more_runs_at_once_than_the_owner_may(
    url: str, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, whose: str
) -> None:
    registry, gate = Registry(), asyncio.Event()
    started: list[int] = []

    async def slow(number: int) -> None:
        started.append(number)
        await gate.wait()

    registry.add(slow)
    usual = Limits(concurrent_runs=3 if whose == "the installation's" else 0)
    if whose == "the owner's own":
        await door.allowance.set(local_caller("ann"), {"concurrent_runs": 3})
    async with hands_of(url, clock, registry, limits=usual) as hands:  # pyright: ignore[reportArgumentType]
        jobs = [await add(door, task="slow", args=(number,), name=f"job {number}") for number in range(8)]
        others = [await add(door, task="slow", args=(100,), owner="bob", name=f"job {n}") for n in range(2)]
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
        for _ in range(3):
            await hands.engine.claiming.step(hands.engine.worker)
        async with asyncio.timeout(PATIENCE):
            while len(started) < 5:
                await asyncio.sleep(0.001)
        assert sorted(started) == [*sorted(started)[:3], 100, 100], "three of hers, and all of his"
        assert await sql.fetchval("select count(*) from cronty.queue") == 5
        gate.set()
        await hands.finish()
        while await sql.fetchval("select count(*) from cronty.queue"):
            await hands.engine.claiming.step(hands.engine.worker)
            running = "select count(*) from cronty.runs where owner_id = 1024 and state = 'running'"
            assert await sql.fetchval(running) <= 3
            await hands.finish()
    assert sorted(set(started)) == [*range(8), 100]
    assert [(await look(door, job)).run_count for job in (*jobs, *others)] == [1] * 10


async def test_limits_of_a_newer_version_stop_no_owner(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    newer = '{"runs_per_day": 5, "runs_per_hour": "many", "depth": 3}'
    await add(door)
    bobs = await add(door, owner="bob")
    await sql.execute("update cronty.owners set limits = $1::jsonb where name = 'ann'", newer)
    clock.advance(minutes=1)
    await hands.all()
    assert await sql.fetchval("select count(*) from cronty.runs where job_id = $1", bobs.id) == 1
    shown = await door.allowance.show("ann")
    assert (shown["limits"]["depth"], shown["limits"]["runs_per_hour"]) == (3, 0)
    assert await door.allowance.show("bob")
