"""Who holds a run: leases that pass, answers that get lost, workers that leave or keep dying."""

import asyncio
import threading
import time
from datetime import datetime

import asyncpg
import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.engine.engine import Engine, EngineOptions
from cronty.engine.lease import since_boot
from cronty.scheduler import Scheduler
from cronty.store.database import Database, StoreUnavailable
from cronty.store.engine_store import EngineStore, Rescued
from cronty.store.job_store import JobStore
from tests.conftest import START, HandClock, Hands, add, hands_of, look
from tests.patience import PATIENCE


async def run(sql: Connection) -> tuple[str, int, int]:
    found = await sql.fetchrow("select state::text, attempt, crashes from cronty.runs")
    assert found is not None
    return found[0], found[1], found[2]


async def test_a_late_worker_keeps_its_name_as_long_as_nobody_struck_it_off(hands: Hands, clock: HandClock) -> None:
    before = hands.engine.worker
    clock.advance(minutes=5)
    await hands.engine.lease.beat()
    assert hands.engine.worker == before


async def test_a_worker_that_was_struck_off_goes_on_under_a_new_name(
    url: str, registry: Registry, hands: Hands, clock: HandClock
) -> None:
    before = hands.engine.worker
    async with hands_of(url, clock, registry) as other:
        await other.outlive(clock)
    await hands.engine.lease.beat()
    assert hands.engine.worker != before


async def test_a_worker_that_was_struck_off_stops_what_others_perform_now(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    stopped = asyncio.Event()

    async def adrift() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    registry.add(adrift)
    await hands.store.publish_tasks(registry.published())
    await add(door, task="adrift")
    clock.advance(minutes=1)
    await hands.engine.lease.beat()
    await hands.engine.firing.step(hands.engine.worker)
    async with hands_of(url, clock, Registry()) as other:
        await other.outlive(clock)
    await hands.engine.lease.beat()
    async with asyncio.timeout(PATIENCE):
        await stopped.wait()
    await hands.finish()
    assert await run(sql) == ("waiting", 1, 1)


@pytest.mark.parametrize("first", ["rescue", "beat", "fire"])
async def test_after_a_night_asleep_nobody_is_struck_off(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection, first: str
) -> None:
    """The fleet and its database were suspended together: every lease has passed, and nobody is dead."""
    opened = threading.Event()
    registry.add(lambda: opened.wait(20), "slow")
    await hands.store.publish_tasks(registry.published())
    await add(door, task="slow")
    clock.advance(minutes=1)
    async with hands_of(url, clock, registry) as other:
        await hands.engine.lease.beat()
        await hands.engine.firing.step(hands.engine.worker)
        for _ in range(8):  # both have been steady for a while
            for one in (hands, other):
                await one.engine.rescuing.step()
            clock.advance(seconds=10)
        clock.advance(hours=8)
        for one in (other, hands):
            engine = one.engine
            steps = {
                "rescue": engine.rescuing.step,
                "beat": engine.lease.beat,
                "fire": lambda engine=engine: engine.lease.claiming(engine.firing.step),
            }
            await steps[first]()
            await engine.rescuing.step()
    assert await sql.fetchval("select count(*) from cronty.workers") == 2
    assert (await run(sql))[1:] == (1, 0), "the run that was in flight still is"
    opened.set()
    await hands.finish()


async def test_who_has_just_started_strikes_nobody_off(
    url: str, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    clock.advance(minutes=5)
    async with hands_of(url, clock, registry) as fresh:
        await fresh.engine.rescuing.step()
        assert await sql.fetchval("select count(*) from cronty.workers") == 2
        await fresh.outlive(clock)
        assert await sql.fetchval("select count(*) from cronty.workers") == 1


async def test_after_a_failover_that_lost_heartbeats_nobody_is_struck_off(
    url: str, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    """Heartbeats that the database knows nothing of don't make an engine steady."""
    async with hands_of(url, clock, registry) as other:
        for _ in range(8):
            await other.engine.lease.beat()
            await hands.engine.lease.beat()
            clock.advance(seconds=10)
        ago = "interval '1 minute'"
        await sql.execute(f"update cronty.workers set beat_at = beat_at - {ago}, lease_until = lease_until - {ago}")
        await other.engine.rescuing.step()
        listed = await sql.fetch("select id from cronty.workers")
        assert {row["id"] for row in listed} == {hands.engine.worker, other.engine.worker}
        await other.outlive(clock)
        assert await sql.fetchval("select count(*) from cronty.workers") == 1


async def test_a_run_that_went_to_a_living_worker_meanwhile_is_not_taken_from_it(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    """Two engines rescue at once: the second one waits for the first, and must see who holds the run by then."""
    opened = threading.Event()
    registry.add(lambda: opened.wait(20), "slow")
    await hands.store.publish_tasks(registry.published())
    await add(door, task="slow")
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    dead = hands.engine.worker
    other = await asyncpg.connect(url)
    async with hands_of(url, clock, registry) as living:
        transaction = other.transaction()
        await transaction.start()
        await other.execute("delete from cronty.workers where id = $1", dead)
        await other.execute(
            "update cronty.runs set worker = $1, attempt = attempt + 1 where worker = $2", living.engine.worker, dead
        )
        late = asyncio.create_task(living.store.rescue([dead], 3))
        async with asyncio.timeout(PATIENCE):
            while not await sql.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)
        await transaction.commit()
        assert (await late).runs == 0
        assert await sql.fetchval("select worker from cronty.runs") == living.engine.worker
    await other.close()
    opened.set()
    await hands.finish()


async def test_a_claim_that_fails_during_a_heartbeat_leaves_the_name_in_doubt(hands: Hands) -> None:
    """The heartbeat has looked already whether the name is in doubt when a claim's answer gets lost."""
    lease, before = hands.engine.lease, hands.engine.worker
    renew = EngineStore.beat

    async def lost(_: int) -> float:
        raise StoreUnavailable("the connection was lost while the commit was on its way")

    async def beat(store: EngineStore, worker: int, lasts: float) -> tuple[datetime, datetime, int] | None:
        with pytest.raises(StoreUnavailable):
            await lease.claiming(lost)
        return await renew(store, worker, lasts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EngineStore, "beat", beat)
        await lease.beat()
    await lease.beat()
    assert hands.engine.worker != before


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no clock that goes on while it sleeps")
async def test_a_machine_that_wakes_from_sleep_knows_that_its_lease_has_passed(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, sql: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It slept alone and was struck off; the monotonic clock stood still."""
    await add(door, "once", {"run_at": START.replace(minute=1).isoformat()})
    lease, before = hands.engine.lease, hands.engine.worker
    async with hands_of(url, clock, Registry()) as other:
        await other.outlive(clock)
    read = time.clock_gettime

    def after_the_sleep(which: int) -> float:
        return read(which) + (80 if which == time.CLOCK_BOOTTIME else 0)

    monkeypatch.setattr(time, "clock_gettime", after_the_sleep)
    assert not lease.holds(before)
    await hands.fire()
    assert hands.engine.worker != before
    assert await run(sql) == ("done", 1, 0)


async def test_after_a_freeze_one_new_name_is_taken_not_two(
    url: str, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    async with hands_of(url, clock, registry) as other:
        await other.outlive(clock)
    hands.engine.lease._ends.clear()  # pyright: ignore[reportPrivateUsage] -- frozen: the lease has passed
    await asyncio.gather(
        hands.engine.lease.claiming(hands.engine.firing.step),
        hands.engine.lease.beat(),
        hands.engine.lease.claiming(hands.engine.claiming.step),
    )
    mine = await sql.fetch("select id from cronty.workers where id <> $1", other.engine.worker)
    assert [row["id"] for row in mine] == [hands.engine.worker]


async def test_runs_claimed_in_a_commit_whose_answer_got_lost_are_handed_back(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door)
    clock.advance(minutes=1)
    await hands.engine.lease.beat()

    async def claim_without_hearing_of_it(worker: int) -> float:
        async with hands.store.due_jobs(None, 10) as due:
            await due.fire([job.id], [None], worker, clock.moment)
        raise StoreUnavailable("the connection was lost while the commit was on its way")

    doubted = hands.engine.worker
    with pytest.raises(StoreUnavailable):
        await hands.engine.lease.claiming(claim_without_hearing_of_it)
    assert await run(sql) == ("running", 1, 0)
    await hands.engine.lease.beat()
    assert await run(sql) == ("waiting", 1, 0)
    await hands.claim()
    assert await run(sql) == ("done", 2, 0)
    assert len(calls) == 1
    assert await sql.fetchval("select outcome from cronty.attempts") == "lost"
    assert await sql.fetchval("select count(*) from cronty.workers where id = $1", doubted) == 0


async def test_a_run_whose_settlement_was_lost_with_the_history_of_a_failover_is_handed_back(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    """The name is listed and renewed, so that nobody rescues the run, and no claim has failed."""
    await add(door)
    clock.advance(minutes=1)
    await hands.fire()
    before = hands.engine.worker
    await sql.execute("update cronty.runs set state = 'running', worker = $1, finished_at = null", before)
    for _ in range(15):
        clock.advance(seconds=10)
        await hands.engine.lease.beat()
    assert await run(sql) == ("waiting", 1, 0)
    await hands.claim()
    assert await run(sql) == ("done", 2, 0)
    assert len(calls) == 2
    assert hands.engine.worker != before


async def test_what_is_performed_for_long_is_not_forgotten(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    opened = threading.Event()
    registry.add(lambda: opened.wait(PATIENCE), "slow")
    await hands.store.publish_tasks(registry.published())
    await add(door, task="slow")
    clock.advance(minutes=1)
    await hands.engine.lease.beat()
    await hands.engine.firing.step(hands.engine.worker)
    before = hands.engine.worker
    for _ in range(15):
        clock.advance(seconds=10)
        await hands.engine.lease.beat()
    opened.set()
    await hands.finish()
    assert await run(sql) == ("done", 1, 0)
    assert hands.engine.worker == before


async def test_what_a_worker_in_doubt_does_know_stays_with_it(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    opened = threading.Event()
    registry.add(lambda: opened.wait(PATIENCE), "slow")
    await hands.store.publish_tasks(registry.published())
    await add(door, task="slow")
    clock.advance(minutes=1)
    await hands.engine.lease.beat()
    await hands.engine.firing.step(hands.engine.worker)
    held_by = hands.engine.worker
    hands.engine.lease._in_doubt.add(held_by)  # pyright: ignore[reportPrivateUsage]
    await hands.engine.lease.beat()
    assert hands.engine.worker != held_by
    assert await run(sql) == ("running", 1, 0)
    opened.set()
    await hands.finish()
    assert await run(sql) == ("done", 1, 0)
    await hands.engine.lease.beat()
    assert await sql.fetchval("select count(*) from cronty.workers where id = $1", held_by) == 0


async def test_what_a_worker_in_doubt_performs_stays_with_it_while_a_claim_is_under_way(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    """One claim failed, another is slow: the runs from before are performed, and the worker beats on time."""
    opened = threading.Event()
    registry.add(lambda: opened.wait(PATIENCE), "slow")
    await hands.store.publish_tasks(registry.published())
    await add(door, "once", {"run_at": START.replace(minute=1).isoformat()}, task="slow")
    clock.advance(minutes=1)
    lease, held_by = hands.engine.lease, hands.engine.worker
    await lease.beat()
    await hands.engine.firing.step(held_by)
    under_way, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(_: int) -> float:
        under_way.set()
        await go_on.wait()
        return 1.0

    async def lost(_: int) -> float:
        raise StoreUnavailable("the connection was lost while the commit was on its way")

    claim = asyncio.create_task(lease.claiming(slowly))
    await under_way.wait()
    with pytest.raises(StoreUnavailable):
        await lease.claiming(lost)
    async with hands_of(url, clock, Registry()) as other:
        for _ in range(8):
            await lease.beat()
            await other.engine.rescuing.step()
            clock.advance(seconds=10)
    assert hands.engine.worker != held_by
    assert await run(sql) == ("running", 1, 0)
    go_on.set()
    await claim
    opened.set()
    await hands.finish()
    assert await run(sql) == ("done", 1, 0)
    await lease.beat()
    assert await sql.fetchval("select count(*) from cronty.workers where id = $1", held_by) == 0


async def test_a_worker_remembers_nothing_of_names_it_has_dropped(hands: Hands) -> None:
    async def lost(_: int) -> float:
        raise StoreUnavailable("the connection was lost while the commit was on its way")

    lease = hands.engine.lease
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await lease.claiming(lost)
        await lease.beat()
    assert not lease._claims  # pyright: ignore[reportPrivateUsage]
    assert list(lease._ends) == [hands.engine.worker]  # pyright: ignore[reportPrivateUsage]


async def test_a_run_that_keeps_taking_its_worker_down_is_quarantined(
    door: Scheduler, url: str, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    opened = threading.Event()
    registry.add(lambda: opened.wait(PATIENCE), "deadly")
    await hands.store.publish_tasks(registry.published())
    job = await add(door, "once", {"run_at": START.replace(minute=1).isoformat()}, task="deadly")
    clock.advance(minutes=1)
    for crash in (1, 2, 3):
        async with hands_of(url, clock, registry) as doomed:
            step = doomed.engine.firing if crash == 1 else doomed.engine.claiming
            await step.step(doomed.engine.worker)
        assert await run(sql) == ("running", crash, crash - 1)
        await hands.outlive(clock)
    opened.set()
    assert await run(sql) == ("quarantined", 3, 3)
    assert (await look(door, job)).last_error == "its worker died 3 times while performing it"


async def test_a_worker_that_stops_finishes_what_it_can_and_hands_over_the_rest(url: str, sql: Connection) -> None:
    """With the real clock and the real loops."""
    registry = Registry()
    started = asyncio.Event()

    async def endless() -> None:
        started.set()
        await asyncio.sleep(60)

    registry.add(endless)
    database, doors = await Database(url, hot=True).open(), await Database(url).open()
    engine = Engine(database, registry, EngineOptions(drain=0.2))
    await engine.start()
    door = Scheduler(JobStore(doors))
    job = await add(door, task="endless")
    await door.run_now(local_caller("ann"), job.number)
    async with asyncio.timeout(PATIENCE):
        await started.wait()
        await engine.stop()
    await database.close()
    await doors.close()
    assert await run(sql) == ("waiting", 1, 0)
    assert await sql.fetchval("select outcome from cronty.attempts") == "interrupted"
    assert await sql.fetchval("select count(*) from cronty.workers") == 0


async def test_a_claim_that_commits_under_a_name_that_was_struck_off_is_handed_back(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    """The fire was under way when another engine struck this one off: neither may perform it beside the other."""
    await add(door, "once", {"run_at": START.replace(minute=1).isoformat()})
    clock.advance(minutes=1)
    under_way, go_on = asyncio.Event(), asyncio.Event()
    step = hands.engine.firing.step

    async def slowly(worker: int) -> float:
        under_way.set()
        await go_on.wait()
        return await step(worker)

    await hands.engine.lease.beat()
    fire = asyncio.create_task(hands.engine.lease.claiming(slowly))
    await under_way.wait()
    async with hands_of(url, clock, Registry()) as other:
        await other.outlive(clock)
    await hands.engine.lease.beat()
    go_on.set()
    await fire
    await hands.engine.lease.beat()
    await hands.finish()
    assert calls == []
    assert await run(sql) == ("waiting", 1, 0)


@pytest.mark.parametrize("kind", ["coroutine", "plain function"])
async def test_what_was_in_line_when_its_worker_froze_is_not_started_once_the_lease_has_passed(
    url: str, door: Scheduler, clock: HandClock, sql: Connection, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Another worker may have it by then, or the next run of its job."""
    began: list[int] = []
    opened, opened_for_threads = asyncio.Event(), threading.Event()

    async def coroutine(number: int) -> None:
        began.append(number)
        await opened.wait()

    def plain(number: int) -> None:
        began.append(number)
        opened_for_threads.wait(PATIENCE)

    registry = Registry()
    registry.add(lambda: None, "quick")
    registry.add(coroutine if kind == "coroutine" else plain, "slow")
    monkeypatch.setattr("cronty.engine.working.PACE_WINDOW", 1e9)  # what has ended once lets it claim one ahead
    async with hands_of(url, clock, registry, concurrency=1) as hands:
        await add(door, "once", {"run_at": START.replace(minute=1).isoformat()}, task="quick")
        for number in (1, 2):
            await add(door, "once", {"run_at": START.replace(minute=2).isoformat()}, task="slow", args=(number,))
        clock.advance(minutes=1)
        await hands.fire()
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
        async with asyncio.timeout(PATIENCE):
            while not began:
                await asyncio.sleep(0.001)
        monkeypatch.setattr("cronty.engine.lease.since_boot", lambda: since_boot() + 60)  # frozen for a minute
        opened.set()
        opened_for_threads.set()
        await hands.finish()
        assert began == [1]
        assert await sql.fetchval("select count(*) from cronty.runs where state = 'waiting' and attempt = 1") == 1
        await hands.claim()
        assert began == [1, 2], "its worker beats before it claims again"
        assert await sql.fetchval("select count(*) from cronty.runs where state = 'done'") == 3


@pytest.mark.parametrize("number", [1, 2])
async def test_an_outcome_of_lost_history_stands_in_nobodys_way(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, sql: Connection, number: int
) -> None:
    """The database went back to when the run waited; then the outcome of the attempt it forgot arrives."""
    job = await add(door, task="fail", policy={"attempts": 5, "backoff": 1})
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    await sql.execute(
        "insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task) select job_id, scheduled_for, $1,"
        " owner_id, 'fail' from cronty.runs",
        clock.moment,
    )
    await sql.execute("update cronty.runs set state = 'waiting', worker = null, attempt = $1", number - 1)
    late = [(job.id, clock.moment, number, "it reported success, too late")]
    assert await hands.store.mark_superseded(hands.engine.worker, late) == 0
    await sql.execute(
        "insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, ended_at, outcome)"
        " select job_id, scheduled_for, attempt + 1, owner_id, now(), 'superseded' from cronty.runs"
    )
    async with hands_of(url, clock, Registry()) as other:
        [claimed] = await hands.store.claim_runs(7, ["fail"], 0, 10)
        assert claimed["attempt"] == number
        assert (await other.store.rescue([7], 3)).runs == 1
    assert await sql.fetchval("select outcome from cronty.attempts where attempt = $1", number) == "lost"


async def test_a_worker_whose_runs_cannot_be_taken_back_stands_in_no_others_way(
    url: str, hands: Hands, clock: HandClock, registry: Registry, sql: Connection
) -> None:
    strike_off = EngineStore.strike_off
    async with hands_of(url, clock, registry) as first, hands_of(url, clock, registry) as second:
        await sql.execute("delete from cronty.workers where id = $1", hands.engine.worker)
        bad, good = first.engine.worker, second.engine.worker
        async with hands_of(url, clock, registry) as living:

            async def odd(store: EngineStore, worker: int, as_of: datetime, crashes: int) -> Rescued:
                if worker == bad:
                    raise ValueError("one of its runs can't be read")
                return await strike_off(store, worker, as_of, crashes)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(EngineStore, "strike_off", odd)
                with pytest.raises(ValueError, match="can't be read"):
                    await living.outlive(clock)
            left = {row["id"] for row in await sql.fetch("select id from cronty.workers")}
    assert bad in left
    assert good not in left
