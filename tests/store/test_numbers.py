"""Numbers of an owner's own: what jobs and keys are called outside, and the global ids behind them."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.jobs.api_key import read_key
from cronty.jobs.run import read_receipt, run_id
from cronty.scheduler import Scheduler
from cronty.scheduler.identity import Identity
from cronty.store import numbers
from cronty.store.database import Database
from cronty.store.job_store import JobStore
from cronty.store.key_store import KeyStore
from cronty.store.migrate import migrate
from cronty.store.numbers import LARGEST_BLOCK, Numbers
from cronty.store.server import WrongServer
from tests.conftest import START, HandClock, Hands, add, database_named

pytestmark = pytest.mark.usefixtures("hands")  # a worker publishes what may be scheduled


def idle_clock(seconds: list[float]) -> Callable[[], float]:
    return lambda: seconds[0]


async def test_each_owners_first_jobs_are_1_2_3(door: Scheduler, sql: asyncpg.Connection) -> None:
    for owner in ("ann", "bob"):
        assert [(await add(door, owner=owner)).number for _ in range(3)] == [1, 2, 3]
    ids = [row["id"] for row in await sql.fetch("select id from cronty.jobs order by id")]
    assert ids == [1024 * number for number in range(1, 7)], "ids count for all owners, in steps of 1024"


async def test_a_number_names_a_job_of_ones_own_alone(door: Scheduler) -> None:
    hers, his = await add(door, name="hers"), await add(door, owner="bob", name="his")
    assert hers.number == his.number
    assert await door.show(local_caller("ann"), hers.number) == Ok(hers)
    assert await door.show(local_caller("bob"), hers.number) == Ok(his)
    assert isinstance(await door.cancel(local_caller("ann"), hers.number), Ok)
    assert await door.show(local_caller("bob"), his.number) == Ok(his)


# -- blocks -------------------------------------------------------------------------------------------------------


async def next_number_of(sql: asyncpg.Connection) -> int:
    return await sql.fetchval("select next_number from cronty.owners where name = 'ann'")


async def test_blocks_double_while_jobs_are_made_quickly_and_start_again_with_one(
    database: Database, sql: asyncpg.Connection
) -> None:
    now = [0.0]
    handed = Numbers(database, idle_clock(now))
    taken: set[int] = set()
    for number in range(1, 300):
        assert await handed.next("ann") == number
        taken.add(await next_number_of(sql))
    assert sorted(taken) == [2, 4, 8, 16, 32, 64, 128, 128 + LARGEST_BLOCK, 256, 256 + LARGEST_BLOCK]
    now[0] += numbers.QUICK
    rest = [await handed.next("ann") for _ in range(300, 320)]
    assert rest[-1] == 319, "a block that was taken is used up, however slowly"
    assert await handed.next("ann") == 320
    assert await next_number_of(sql) == 321, "and then comes one number at a time"


async def test_a_block_that_lies_idle_is_forgotten(database: Database, sql: asyncpg.Connection) -> None:
    now = [0.0]
    handed = Numbers(database, idle_clock(now))
    assert [await handed.next("ann") for _ in range(4)] == [1, 2, 3, 4]
    now[0] += numbers.IDLE + 1
    left_over = await next_number_of(sql)
    assert await handed.next("ann") == left_over == 8


async def test_many_at_once_get_no_number_twice(url: str, clock: HandClock, sql: asyncpg.Connection) -> None:
    databases = [await Database(url, clock=clock, size=4).open() for _ in range(2)]
    try:
        doors = [Scheduler(JobStore(database)) for database in databases]
        made = await asyncio.gather(*(add(door, name="at once") for door in doors for _ in range(100)))
        assert len({job.number for job in made}) == 200
        assert max(job.number for job in made) < 400, "gaps are allowed, but not many"
        assert await sql.fetchval("select count(distinct number) from cronty.jobs") == 200
    finally:
        for database in databases:
            await database.close()


# -- a database that was restored to an earlier time --------------------------------------------------------------

BEFORE = """
delete from cronty.due where job_id in (select id from cronty.jobs where number > 2);
delete from cronty.jobs where number > 2;
update cronty.owners set next_number = 3;
"""
LONG_BEFORE = "truncate cronty.owners, cronty.jobs, cronty.due, cronty.api_keys, cronty.channels, cronty.calendars"


async def test_numbers_taken_before_a_restore_are_not_used_twice(
    url: str, clock: HandClock, door: Scheduler, sql: asyncpg.Connection
) -> None:
    for _ in range(5):
        await add(door)  # it holds 6 and 7
    await sql.execute(BEFORE)
    elsewhere = await Database(url, clock=clock).open()
    try:
        other = Scheduler(JobStore(elsewhere))
        assert [(await add(other)).number for _ in range(5)] == [3, 4, 5, 6, 7]
        later = [(await add(door, idempotency_key=f"key {number}")).number for number in range(5)]
        assert len({*later, 1, 2, 3, 4, 5, 6, 7}) == 12
        assert (await add(door, idempotency_key="key 0")).number == later[0]
    finally:
        await elsewhere.close()


async def test_a_number_of_a_block_that_others_have_reached_is_left_to_them(
    url: str, clock: HandClock, door: Scheduler, sql: asyncpg.Connection
) -> None:
    elsewhere = await Database(url, clock=clock).open()
    try:
        other = Scheduler(JobStore(elsewhere))
        for _ in range(5):
            await add(door)
        await sql.execute(BEFORE)
        made = [(await add(one)).number for _ in range(10) for one in (door, other)]
        assert len(set(made)) == 20
    finally:
        await elsewhere.close()


async def test_an_owner_that_a_restore_has_taken_away_is_made_again(door: Scheduler, sql: asyncpg.Connection) -> None:
    await add(door)
    await add(door)
    await sql.execute(LONG_BEFORE)
    assert (await add(door)).number == 1
    assert (await add(door, idempotency_key="k")).number == 2


# -- a run that is asked for at the very moment of a slot ---------------------------------------------------------


async def test_a_run_asked_for_at_the_microsecond_of_a_slot_moves_on_by_one(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await add(door, policy={"overlap": "allow"})
    clock.advance(minutes=1)
    asked: list[str] = []
    for fired in (False, True):
        for _ in range(2):
            result = await door.run_now(local_caller("ann"), job.number)
            assert isinstance(result, Ok), f"the slot is {'fired' if fired else 'due'}"
            asked.append(result.value.run_id)
        await hands.all()
    microsecond = timedelta(microseconds=1)
    assert asked == [run_id(job.number, clock.moment + step * microsecond) for step in (1, 2, 3, 4)]
    rows = await sql.fetch("select scheduled_for, manual, state::text from cronty.runs order by scheduled_for")
    assert [(row["scheduled_for"] - START - timedelta(minutes=1)) // microsecond for row in rows] == [0, 1, 2, 3, 4]
    assert [row["manual"] for row in rows] == [False, True, True, True, True]
    assert {row["state"] for row in rows} == {"done"}
    assert await sql.fetch("select * from cronty.slots_unaccounted where why like 'its predecessor%'") == []
    assert all(read_receipt(one) is not None for one in asked)


# -- which server it is -------------------------------------------------------------------------------------------


def test_ids_carry_the_servers_number_which_the_first_owner_fixes(server_url: str) -> None:
    async def look(url: str) -> None:
        assert await migrate(url, server=7) == []
        connection = await asyncpg.connect(url)
        database = await Database(url).open()
        try:
            made = await Identity(KeyStore(database), "https://cronty.example.com/mcp").add_key(
                local_caller("ann"), "laptop"
            )
            assert isinstance(made, Ok)
            key = read_key(made.value.text)
            assert key is not None
            assert key[0] % 1024 == 7
            await connection.execute(
                "insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at,"
                " updated_at) select id, n, 'x', 'note', '{}', '{}', '{}', '{}', now(), now()"
                " from cronty.owners, generate_series(1, 2) n"
            )
            assert await connection.fetchval("select id from cronty.owners") == 1024 + 7
            ids = await connection.fetch("select id from cronty.jobs order by id")
            assert [row["id"] for row in ids] == [1024 + 7, 2048 + 7]
            assert await migrate(url, server=7) == await migrate(url) == []
            with pytest.raises(WrongServer, match="It is server 7 and has owners already; it can't become server 8"):
                await migrate(url, server=8)
        finally:
            await database.close()
            await connection.close()

    with database_named(server_url, "cronty_server_7") as url:
        asyncio.run(look(url))


# -- keys ---------------------------------------------------------------------------------------------------------


async def test_keys_are_called_by_number_and_their_ids_say_nothing(database: Database, sql: asyncpg.Connection) -> None:
    identity = Identity(KeyStore(database), "https://cronty.example.com/mcp")
    for owner in ("ann", "bob"):
        made = [await identity.add_key(local_caller(owner), f"key {number}") for number in (1, 2, 3)]
        assert [one.value.number for one in made if isinstance(one, Ok)] == [1, 2, 3]
    ids = [row["id"] for row in await sql.fetch("select id from cronty.api_keys order by owner_id, number")]
    assert ids != sorted(ids) or ids[-1] - ids[0] > 2**40, "they are drawn at random"
    assert isinstance(await identity.revoke(local_caller("ann"), 2), Ok)
    assert [key.revoked_at is None for key in await identity.keys(local_caller("ann"))] == [True, False, True]
    assert [key.revoked_at is None for key in await identity.keys(local_caller("bob"))] == [True, True, True]


async def test_keys_added_at_the_same_moment_get_numbers_of_their_own(database: Database) -> None:
    identity = Identity(KeyStore(database), "https://cronty.example.com/mcp")
    made = await asyncio.gather(*(identity.add_key(local_caller("ann"), "at once") for _ in range(8)))
    assert sorted(one.value.number for one in made if isinstance(one, Ok)) == [1, 2, 3, 4, 5, 6, 7, 8]
