"""An outcome that was reached is never changed by a fault of the database."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.engine.engine import Engine
from cronty.engine.loop import keep_doing
from cronty.jobs.job import Job
from cronty.jobs.outcome import Done
from cronty.scheduler import Scheduler
from cronty.store.database import StoreBusy, StoreUnavailable
from tests.conftest import HandClock, Hands, add, hands_of
from tests.patience import PATIENCE
from tests.pooler import direct_only


async def reach_outcomes(hands: Hands, count: int = 1) -> None:
    """Fire, and wait until the tasks have ended; nothing is settled yet."""
    await hands.engine.firing.step(hands.engine.worker)
    async with asyncio.timeout(PATIENCE):
        while len(hands.engine.working._ended) < count:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0.001)


async def states(sql: asyncpg.Connection) -> list[tuple[str, str | None]]:
    return [(row[0], row[1]) for row in await sql.fetch("select state::text, error from cronty.runs order by job_id")]


async def state_of(sql: asyncpg.Connection, *jobs: Job) -> list[str]:
    return [await sql.fetchval("select state::text from cronty.runs where job_id = $1", job.id) for job in jobs]


def idle_connection_of(engine: Engine) -> asyncpg.Connection:
    """The engine's one idle connection."""
    [connection] = engine._database.pool._idle  # pyright: ignore[reportPrivateUsage]
    return connection


@asynccontextmanager
async def read_only(sql: asyncpg.Connection, engine: Engine) -> AsyncGenerator[None]:
    """A primary that was demoted, as sessions old and new see it."""
    name = await sql.fetchval("select current_database()")
    await sql.execute(f"alter database {name} set default_transaction_read_only = on")
    await idle_connection_of(engine).execute("set default_transaction_read_only = on")
    try:
        yield
    finally:
        await sql.execute("set transaction_read_only = off")
        await sql.execute(f"alter database {name} reset default_transaction_read_only")


@direct_only("its sessions don't see that the database has become read-only")
async def test_a_success_outlives_a_database_that_is_read_only_for_two_tries(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await add(door)
    clock.advance(minutes=1)
    await reach_outcomes(hands)
    async with read_only(sql, hands.engine):
        with pytest.raises(StoreUnavailable, match="read-only"):
            await hands.engine.settling.step()
        with pytest.raises(StoreUnavailable, match="the server is read-only"):
            await hands.engine.settling.step()
        assert await states(sql) == [("running", None)]
    await hands.finish()
    assert await states(sql) == [("done", None)]


async def refuse_writes(sql: asyncpg.Connection, condition: str, state: str) -> None:
    """Have PostgreSQL itself raise a fault when a run that fits is settled."""
    await sql.execute(
        f"""create or replace function cronty.refuse() returns trigger language plpgsql as $$
        begin
          if {condition} then raise exception 'made up' using errcode = '{state}'; end if;
          return new;
        end $$"""
    )
    await sql.execute(
        "create trigger refuse before update on cronty.runs for each row when (new.state <> 'running')"
        " execute function cronty.refuse()"
    )


@pytest.fixture
async def accept_again(sql: asyncpg.Connection) -> AsyncGenerator[None]:
    yield
    await sql.execute("drop function if exists cronty.refuse() cascade")


@pytest.mark.usefixtures("accept_again")
@pytest.mark.parametrize("state", ["53100", "53300", "57014", "57P01", "58030", "25006", "XX001", "40P01", "23514"])
async def test_no_fault_of_the_database_turns_a_success_into_a_failure(
    state: str, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("cronty.engine.settling.REFUSED_REST", 0.0)
    await add(door)
    clock.advance(minutes=1)
    await reach_outcomes(hands)
    await refuse_writes(sql, "true", state)
    for _ in range(2):
        with suppress(StoreUnavailable):
            await hands.engine.settling.step()
    assert await states(sql) == [("running", None)]
    await sql.execute("drop function cronty.refuse() cascade")
    await hands.finish()
    assert await states(sql) == [("done", None)]


async def test_a_settlement_that_is_cancelled_by_an_operator_is_made_again(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await add(door)
    clock.advance(minutes=1)
    await reach_outcomes(hands)
    async with sql.transaction():
        await sql.execute("lock cronty.runs")
        settling = asyncio.ensure_future(hands.engine.settling.step())
        async with asyncio.timeout(PATIENCE):
            while not await sql.fetchval(
                "select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event_type = 'Lock'"
                " and datname = current_database() and application_name = 'cronty engine'"
            ):
                await asyncio.sleep(0.01)
        with pytest.raises(StoreUnavailable, match="user request"):
            await settling
    await hands.finish()
    assert await states(sql) == [("done", None)]


@pytest.mark.usefixtures("accept_again")
async def test_one_outcome_that_is_refused_keeps_no_other_from_being_settled(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good, unwritable = [await add(door, name=name) for name in ("bad", "good", "unwritable")]
    clock.advance(minutes=1)
    await reach_outcomes(hands, 3)
    for attempt in hands.engine.working._ended:  # pyright: ignore[reportPrivateUsage]
        if attempt.job_id == unwritable.id:
            attempt.outcome = Done("this is not JSON")
    await refuse_writes(sql, f"new.job_id = {bad.id}", "XX000")
    await hands.engine.settling.step()
    held = [one.job_id for one in hands.engine.settling.held]
    assert held == [bad.id], "it is known to the lease as ours"
    assert await state_of(sql, bad, good, unwritable) == ["running", "done", "failed"]
    await sql.execute("drop function cronty.refuse() cascade")
    monkeypatch.setattr(hands.engine.settling, "_try_refused_at", 0.0)
    await hands.finish()
    assert await state_of(sql, bad) == ["done"]


@direct_only("its sessions don't see that the database has become read-only")
async def test_an_outage_is_told_once_whatever_duties_it_hits(
    url: str, registry: Registry, sql: asyncpg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """All of an engine's duties run into it, again and again; the first one tells."""
    async with hands_of(url, None, registry) as hands:
        engine, stop, failed = hands.engine, asyncio.Event(), asyncio.Semaphore(0)

        async def failing() -> float:
            try:
                await engine.settling._store.beat(1, 1.0)  # pyright: ignore[reportPrivateUsage]
                return 0.0
            except StoreUnavailable:
                failed.release()
                raise

        with caplog.at_level(logging.DEBUG):
            async with read_only(sql, engine):
                wakes = [asyncio.Event() for _ in range(3)]
                duties = [asyncio.ensure_future(keep_doing("try", failing, wake=one, stop=stop)) for one in wakes]
                async with asyncio.timeout(PATIENCE):
                    for _ in range(6):
                        await failed.acquire()
                stop.set()
                for wake in wakes:
                    wake.set()
            await asyncio.gather(*duties)
    told = [record for record in caplog.records if record.levelno >= logging.INFO]
    assert [record.levelname for record in told] == ["WARNING"]
    assert "read-only" in told[0].getMessage()
    assert told[0].exc_info is None


async def test_a_race_for_a_lock_is_no_outage(caplog: pytest.LogCaptureFixture) -> None:
    stop, wake = asyncio.Event(), asyncio.Event()

    async def busy() -> float:
        stop.set()
        raise StoreBusy("PostgreSQL is busy: canceling statement due to lock timeout")

    with caplog.at_level(logging.WARNING):
        await keep_doing("prune", busy, wake=wake, stop=stop)
    assert [record.getMessage() for record in caplog.records] == [
        "prune failed 1 time(s) in a row: PostgreSQL is busy: canceling statement due to lock timeout"
    ]


async def test_a_role_that_is_away_changes_no_outcome(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    """As after a restore into a cluster whose roles come later: PostgreSQL calls it a bad value."""
    job = await add(door)
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    async with asyncio.timeout(PATIENCE):
        while not hands.engine.working._ended:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0.01)
    await sql.execute("alter role cronty_engine rename to cronty_engine_elsewhere")
    try:
        for _ in range(2):
            with suppress(Exception):
                await hands.engine.settling.step()
    finally:
        await sql.execute("alter role cronty_engine_elsewhere rename to cronty_engine")
    hands.engine.settling._try_refused_at = 0.0  # pyright: ignore[reportPrivateUsage]
    await hands.finish()
    assert await state_of(sql, job) == ["done"]


async def test_a_row_that_is_locked_holds_up_no_other_settlement(
    door: Scheduler, hands: Hands, clock: HandClock, url: str, sql: asyncpg.Connection
) -> None:
    """A session that somebody forgot holds a job of Ann's; Bob's success is written all the same."""
    anns, bobs = await add(door, task="fail"), await add(door, owner="bob")
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    held = await asyncpg.connect(url)
    await held.execute(f"begin; select from cronty.jobs where id = {anns.id} for update")
    async with asyncio.timeout(PATIENCE):
        while await state_of(sql, bobs) != ["done"]:
            await hands.engine.settling.step()
            await asyncio.sleep(0.01)
    assert await state_of(sql, anns) == ["running"]
    await held.close()
    hands.engine.settling._try_refused_at = 0.0  # pyright: ignore[reportPrivateUsage]
    await hands.finish()
    assert await state_of(sql, anns) == ["failed"]


async def test_a_duty_outlives_an_outage_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, tries, slept = asyncio.Event(), 0, list[float]()

    async def away() -> float:
        nonlocal tries
        tries += 1
        if tries == 5000:
            stop.set()
        raise StoreUnavailable("away")

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    await keep_doing("fire", away, wake=asyncio.Event(), stop=stop)
    assert tries == 5000
    assert min(slept) > 0
    assert max(slept) <= 2


async def test_a_duty_that_ended_is_told_and_makes_the_engine_unhealthy(
    url: str, registry: Registry, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = asyncio.Event()
    async with hands_of(url, None, registry) as hands:
        engine = hands.engine
        monkeypatch.setattr("cronty.engine.engine.keep_doing", partial(_end, ended))
        engine._duty("seal", engine.sealing.step, asyncio.Event())  # pyright: ignore[reportPrivateUsage]
        async with asyncio.timeout(PATIENCE):
            await ended.wait()
            await asyncio.sleep(0)
        assert engine.why_stuck() == "The engine has stopped to seal; restart this process."
    assert "seal has ended, and this process must be restarted: too large" in caplog.text


async def _end(ended: asyncio.Event, *_: object, **__: object) -> None:
    ended.set()
    raise OverflowError("too large")
