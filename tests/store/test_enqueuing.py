"""What a program's open transaction may hold up, and what its role may do: as little as possible, because nobody knows
when the transaction ends or who else speaks through the connection."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import orjson
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.scheduler import Scheduler
from cronty.store.database import Database
from cronty.store.job_store import JobStore
from cronty.store.new_job import Added, NewJob
from cronty.store.owner_store import OwnerStore
from tests.conftest import START, HandClock, Hands, add
from tests.patience import PATIENCE

ANN = local_caller("ann")


def once(name: str = "a", task: str = "note", seconds: int = 60, **rest: object) -> ScheduleJob:
    at = (START + timedelta(seconds=seconds)).isoformat()
    return ScheduleJob(name, task, "once", {"run_at": at}, **rest)  # pyright: ignore[reportArgumentType]


async def enqueue(door: Scheduler, request: ScheduleJob, connection: object = None, unique: str | None = None) -> Added:
    made = await door.enqueue(ANN, request, unique or False, connection)
    assert isinstance(made, Ok), made
    return made.value


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[asyncpg.Connection]:
    """A connection of a program's own, in a transaction that is rolled back unless it is committed."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("begin")
        yield connection
    finally:
        await connection.close()


async def locked(sql: asyncpg.Connection) -> list[str]:
    """The tables with rows that somebody has locked against a change."""
    tables = await sql.fetch(
        "select oid::regclass::text from pg_class where relnamespace = 'cronty'::regnamespace and relkind = 'r'"
    )
    found: list[str] = []
    for (table,) in tables:
        try:
            # A row of an owner is only kept from being removed while a job of it is made.
            strength = "no key update" if table == "cronty.owners" else "update"
            await sql.execute(f"select from {table} for {strength} nowait")
        except asyncpg.LockNotAvailableError:
            found.append(table)
    return found


async def test_it_locks_no_row_that_was_there_before(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await enqueue(door, once(), unique="has ended")
    await enqueue(door, once(task="fail", policy={"attempts": 2, "backoff": 3600}), unique="is tried again")
    clock.advance(seconds=61)
    await hands.fire()
    waiting = await enqueue(door, once(seconds=3600), unique="waits")
    async with opened(url) as theirs:
        assert (await enqueue(door, once(seconds=3600), theirs, "waits")).number == waiting.number
        assert (await enqueue(door, once(task="fail", seconds=3600), theirs, "is tried again")).id is None
        assert (await enqueue(door, once(seconds=3600), theirs, "has ended")).id is not None
        assert (await enqueue(door, once(seconds=3600), theirs, "is new")).id is not None
        assert await locked(sql) == []


async def test_others_use_a_zone_that_it_was_the_first_to_use(url: str, door: Scheduler, hands: Hands) -> None:
    async with opened(url) as theirs:
        local = ScheduleJob("a", "note", "once", {"run_at": "2027-03-02T09:00:00"}, timezone="Europe/Riga")
        await enqueue(door, local, theirs)
        await add(door, "cron", {"expression": "0 9 * * *"}, owner="bob", timezone="Europe/Riga")
        await theirs.execute("commit")


async def test_what_runs_more_than_once_is_not_enqueued(door: Scheduler, hands: Hands) -> None:
    refused = await door.enqueue(ANN, ScheduleJob("a", "note", "cron", {"expression": "0 9 * * *"}))
    assert isinstance(refused, Err)
    assert refused.code == "bad_trigger"


async def test_a_run_it_found_waiting_goes_its_way_and_is_made_again_at_the_commit(
    url: str, clock: HandClock, hands: Hands, door: Scheduler, sql: asyncpg.Connection
) -> None:
    async with opened(url) as theirs:
        found = await enqueue(door, once(task="fail"), unique="k")
        assert (await enqueue(door, once(task="fail"), theirs, "k")).number == found.number
        clock.advance(seconds=61)
        await hands.fire()
        assert await sql.fetchval("select state::text from cronty.runs") == "failed", "it is settled meanwhile"
        assert await sql.fetchval("select count(*) from cronty.jobs") == 1
        await theirs.execute("commit")
        assert await sql.fetchval("select count(*) from cronty.due where next_at is not null") == 1


async def test_what_still_waits_at_the_commit_is_not_made_again(
    url: str, door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    await enqueue(door, once(), unique="k")
    async with opened(url) as theirs:
        await enqueue(door, once(), theirs, "k")
        await enqueue(door, once(), theirs, "new")
        await enqueue(door, once(), theirs, "new")
        await theirs.execute("commit")
    assert await sql.fetchval("select count(*) from cronty.jobs") == 2
    assert await sql.fetchval("select count(*) from cronty.found_waiting") == 0


async def test_what_waits_at_the_commit_is_kept_waiting_until_that_is_done(
    url: str, clock: HandClock, door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    """Or it could begin after it was looked at and before others see what was committed."""
    await enqueue(door, once(), unique="k")
    async with opened(url) as theirs:
        await enqueue(door, once(), theirs, "k")
        await theirs.execute("set constraints all immediate")
        clock.advance(seconds=61)
        await hands.engine.lease.claiming(hands.engine.firing.step)
        assert await sql.fetchval("select count(*) from cronty.runs") == 0
        await theirs.execute("commit")
        await hands.fire()
    assert await sql.fetchval("select count(*) from cronty.runs") == 1


async def test_a_run_that_an_engine_is_taking_at_the_commit_is_made_again_without_waiting(
    url: str, door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    await enqueue(door, once(), unique="k")
    async with opened(url) as theirs, opened(url) as engine:
        await enqueue(door, once(), theirs, "k")
        await engine.execute("select from cronty.due for update")
        await asyncio.wait_for(theirs.execute("commit"), PATIENCE)
    assert await sql.fetchval("select count(*) from cronty.jobs") == 2


async def test_a_job_can_be_paused_while_a_transaction_has_found_it(url: str, door: Scheduler, hands: Hands) -> None:
    found = await enqueue(door, once(), unique="k")
    async with opened(url) as theirs:
        await enqueue(door, once(), theirs, "k")
        assert isinstance(await door.pause(ANN, found.number), Ok)
        await theirs.execute("commit")


async def test_a_transaction_that_does_not_see_the_other_is_told_to_begin_again(
    url: str, door: Scheduler, hands: Hands
) -> None:
    await enqueue(door, once())
    async with opened(url) as theirs:
        await theirs.execute("set transaction isolation level repeatable read")
        await theirs.execute("select from cronty.jobs")
        await enqueue(door, once(), unique="k")
        with pytest.raises(asyncpg.SerializationError):
            await enqueue(door, once(), theirs, "k")


async def test_no_job_is_made_for_an_owner_that_is_being_erased(
    url: str, database: Database, door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    await enqueue(door, once(), unique="k")
    new = await door.decide(ANN, once())
    assert isinstance(new, NewJob)
    jobs = JobStore(database).new_jobs
    async with opened(url) as theirs:
        await sql.execute("update cronty.owners set erasing_since = now()")  # after it was checked
        assert await jobs.add(ANN, new) is None
        assert await jobs.add(ANN, new, theirs) is None
        await theirs.execute("commit")
    assert await sql.fetchval("select count(*) from cronty.jobs") == 1


async def test_what_was_enqueued_just_before_its_owner_is_erased_goes_with_it(
    url: str, database: Database, door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    await enqueue(door, once())
    async with opened(url) as theirs:
        await enqueue(door, once(), theirs)
        erasing = asyncio.create_task(OwnerStore(database).erase("ann"))
        async with asyncio.timeout(PATIENCE):
            while not await sql.fetchval("select count(*) from pg_locks where not granted"):
                await asyncio.sleep(0.005)
        await theirs.execute("commit")
        assert (await asyncio.wait_for(erasing, PATIENCE) or {})["jobs"] == 2
    assert await sql.fetchval("select count(*) from cronty.jobs") == 0


@pytest.fixture
async def shop_role(sql: asyncpg.Connection) -> AsyncGenerator[str]:
    await sql.execute("create role shop_role")
    await sql.execute("grant usage on schema cronty to shop_role")
    await sql.execute("grant execute on function cronty.enqueue(text, text) to shop_role")
    yield "shop_role"
    await sql.execute("drop owned by shop_role")
    await sql.execute("drop role shop_role")


async def test_whoever_may_enqueue_makes_nothing_that_was_not_checked_for_this_transaction(
    url: str, door: Scheduler, hands: Hands, sql: asyncpg.Connection, shop_role: str
) -> None:
    """Somebody may speak through a program's connection: nothing that they say makes a job, or makes one again."""
    said: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    async with opened(url) as theirs:
        await theirs.execute(f"set role {shop_role}; commit; begin")
        theirs.add_query_logger(lambda query: said.put_nowait(query.args) if query.args else None)
        await enqueue(door, once(), theirs)
        given, signature = await asyncio.wait_for(said.get(), PATIENCE)
        forged = orjson.dumps(
            {**orjson.loads(given), "number": 7, "actor": {"owner": "root"}, "task": "command"}
        ).decode()
        for job, mark in ((forged, signature), (forged, ""), (given, None), ("{}", signature)):
            answer = await theirs.fetchval("select cronty.enqueue($1, $2)::text", job, mark)
            assert orjson.loads(answer) == {"refused": "signature"}
        await theirs.execute("rollback; begin")
        answer = await theirs.fetchval("select cronty.enqueue($1, $2)::text", given, signature)
        assert orjson.loads(answer) == {"refused": "transaction"}
        for secret in ("select enqueue_key from cronty.server", "select cronty.add_job('{}')"):
            await theirs.execute("commit; begin")
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await theirs.execute(secret)
    assert await sql.fetchval("select count(*) from cronty.jobs") == 0
