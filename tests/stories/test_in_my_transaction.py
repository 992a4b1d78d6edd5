"""A run that exists exactly if the caller's own transaction commits, whatever driver that has."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from cronty import Cronty, CrontyError
from tests.conftest import database_named
from tests.patience import PATIENCE

type Enqueue = Callable[[object], Awaitable[None]]

INSERT = "insert into shop_orders (id) values (1)"


class ChangedMind(Exception):
    """Raised in a transaction, so that it is rolled back."""


async def by_asyncpg(url: str, enqueue: Enqueue) -> None:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute(INSERT)
            await enqueue(connection)
    finally:
        await connection.close()


async def by_pool_of_asyncpg(url: str, enqueue: Enqueue) -> None:
    async with asyncpg.create_pool(url, min_size=1) as pool, pool.acquire() as connection, connection.transaction():
        await connection.execute(INSERT)
        await enqueue(connection)


async def by_psycopg(url: str, enqueue: Enqueue) -> None:
    with psycopg.Connection[DictRow].connect(url, row_factory=dict_row) as connection:
        connection.execute(INSERT)
        await enqueue(connection)


async def by_async_psycopg(url: str, enqueue: Enqueue) -> None:
    connection = await psycopg.AsyncConnection[DictRow].connect(url, autocommit=True, row_factory=dict_row)
    async with connection, connection.transaction():
        await connection.execute(INSERT)
        await enqueue(connection)


async def by_sqlalchemy(url: str, enqueue: Enqueue) -> None:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:", 1), poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(INSERT)
        await enqueue(connection)


async def by_session(url: str, enqueue: Enqueue) -> None:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:", 1), poolclass=NullPool)
    with Session(engine) as session, session.begin():
        session.connection().exec_driver_sql(INSERT)
        await enqueue(session)


async def by_async_sqlalchemy(url: str, enqueue: Enqueue) -> None:
    engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:", 1), poolclass=NullPool)
    async with engine.begin() as connection:
        await connection.exec_driver_sql(INSERT)
        await enqueue(connection)


async def by_async_session(url: str, enqueue: Enqueue) -> None:
    engine = create_async_engine(url.replace("postgresql:", "postgresql+psycopg:", 1), poolclass=NullPool)
    async with AsyncSession(engine) as session, session.begin():
        await (await session.connection()).exec_driver_sql(INSERT)
        await enqueue(session)


DRIVERS = [
    by_asyncpg, by_pool_of_asyncpg, by_psycopg, by_async_psycopg, by_sqlalchemy, by_session, by_async_sqlalchemy,
    by_async_session,
]  # fmt: skip


@pytest.fixture
async def shop(url: str, sql: asyncpg.Connection) -> AsyncGenerator[Cronty]:
    await sql.execute("create table shop_orders (id int primary key)")
    yield Cronty(url, data_dir=Path("/nonexistent"))
    await sql.execute("drop table shop_orders")


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize("driver", DRIVERS)
async def test_the_run_exists_exactly_if_the_transaction_commits(
    shop: Cronty, url: str, sql: asyncpg.Connection, driver: Callable[[str, Enqueue], Awaitable[None]]
) -> None:
    seen: list[int | None] = []

    @shop.task
    async def ship(order: int) -> int:
        seen.append(await sql.fetchval("select id from shop_orders where id = $1", order))
        return order

    async def change_mind(connection: object) -> None:
        await ship.options(connection=connection).enqueue(2)
        raise ChangedMind

    async def keep(connection: object) -> None:
        run = await ship.options(connection=connection).enqueue(1)
        assert await sql.fetchval("select count(*) from cronty.jobs") == 0, "others don't see it before the commit"
        runs.append(run)

    async with shop:
        runs = [await ship.enqueue(0)]
        await runs[0].result(timeout=PATIENCE)
        await sql.execute("delete from cronty.due; delete from cronty.jobs")
        with pytest.raises(ChangedMind):
            await driver(url, change_mind)
        await driver(url, keep)
        assert await runs[1].result(timeout=PATIENCE) == 1
    assert seen == [None, 1], "it saw what was committed with it"
    assert await sql.fetchval("select count(*) from cronty.jobs") == 1
    entries = "(select job_number from cronty.audit_unsealed union all select job_number from cronty.audit) entries"
    assert await sql.fetchval(f"select count(*) from {entries} where job_number > 1") == 1


async def test_a_program_that_is_not_async_waits_for_it(shop: Cronty, url: str) -> None:
    @shop.task
    def ship(order: int) -> int:
        return order

    def serve() -> int:
        shop.start()
        try:
            with psycopg.connect(url) as connection:
                connection.execute(INSERT)
                run = shop.wait(ship.options(connection=connection).enqueue(1))
            return shop.wait(run.result(timeout=PATIENCE))
        finally:
            shop.stop()

    assert await asyncio.to_thread(serve) == 1


async def test_those_that_wait_for_a_transaction_leave_a_thread_to_it(
    shop: Cronty, url: str, sql: asyncpg.Connection
) -> None:
    @shop.task
    async def receipt(order: int) -> None: ...

    async def waiting() -> None:
        with psycopg.connect(url) as connection:
            await receipt.options(connection=connection, unique="customer 3").enqueue(1)

    crowd = min(32, (os.cpu_count() or 1) + 4)  # as many threads as asyncio keeps for everybody
    async with shop:
        with psycopg.connect(url) as first:
            await receipt.options(connection=first, unique="customer 3").enqueue(1)
            others = [asyncio.create_task(waiting()) for _ in range(crowd)]
            async with asyncio.timeout(PATIENCE):
                while await sql.fetchval("select count(*) from pg_locks where not granted") < crowd:
                    await asyncio.sleep(0.005)
                await receipt.options(connection=first).enqueue(2)
        await asyncio.wait_for(asyncio.gather(*others), PATIENCE)


async def test_engines_hear_of_it_at_the_commit_even_if_it_was_due_much_later(shop: Cronty, url: str) -> None:
    """Nobody knows when a transaction ends: by then it may be long overdue, and engines don't look back that far."""
    shop.run_jobs = False

    @shop.task
    async def ship(order: int) -> None: ...

    heard: asyncio.Queue[str] = asyncio.Queue()

    def hear(*said: object) -> None:
        heard.put_nowait(str(said[-1]))

    async with shop, connected(url) as listening, connected(url) as connection:
        await listening.add_listener("cronty", hear)
        async with connection.transaction():
            await ship.options(connection=connection, delay=3600).enqueue(1)
            assert heard.empty()
        assert (await asyncio.wait_for(heard.get(), PATIENCE)).startswith("due ")


async def test_a_refusal_leaves_the_transaction_as_it_was(shop: Cronty, url: str, sql: asyncpg.Connection) -> None:
    @shop.task
    async def ship(order: int) -> None: ...

    async with shop, connected(url) as connection:
        async with connection.transaction():
            await connection.execute(INSERT)
            with pytest.raises(CrontyError) as refused:
                await ship.options(connection=connection, policy={"attempts": -1}).enqueue(1)
        assert refused.value.code == "bad_policy"
    assert await sql.fetchval("select count(*) from shop_orders") == 1


@asynccontextmanager
async def committing_each_statement(url: str) -> AsyncGenerator[dict[str, list[object]]]:
    """A connection of each kind that isn't in a transaction, by how one is begun with it."""
    by_psycopg, by_asyncpg = (url.replace("postgresql:", f"postgresql+{one}:", 1) for one in ("psycopg", "asyncpg"))
    plain = create_engine(by_psycopg, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    engines = [
        create_async_engine(one, poolclass=NullPool, isolation_level="AUTOCOMMIT") for one in (by_psycopg, by_asyncpg)
    ]
    async with (
        connected(url) as asyncpgs,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as async_psycopgs,
        engines[0].connect() as over_psycopg,
        AsyncSession(engines[1]) as over_asyncpg,
    ):
        with psycopg.connect(url, autocommit=True) as psycopgs, plain.begin() as begun, Session(plain) as session:
            yield {
                "async with connection.transaction()": [asyncpgs],
                "with connection.transaction()": [psycopgs, async_psycopgs],
                "with engine.begin()": [begun, session, over_psycopg, over_asyncpg],
            }


async def test_a_connection_that_commits_each_statement_is_refused(
    shop: Cronty, url: str, sql: asyncpg.Connection
) -> None:
    @shop.task
    async def ship(order: int) -> None: ...

    async with shop, committing_each_statement(url) as connections:
        for how, kind in connections.items():
            for connection in kind:
                with pytest.raises(CrontyError, match="no open transaction") as refused:
                    await ship.options(connection=connection).enqueue(1)
                assert refused.value.code == "bad_connection"
                assert how in str(refused.value)
    assert await sql.fetchval("select count(*) from cronty.jobs") == 0


class OtherDriversConnection:
    """It has what psycopg 2's connections have."""

    __module__ = "psycopg2.extensions"

    def cursor(self) -> None: ...
    def commit(self) -> None: ...


async def test_what_is_no_connection_of_a_driver_we_know_is_refused_by_its_name(shop: Cronty, url: str) -> None:
    @shop.task
    async def ship(order: int) -> None: ...

    async def refused(connection: object, name: str) -> None:
        with pytest.raises(
            CrontyError, match=f"{name} is no connection to enqueue with.*asyncpg or psycopg 3"
        ) as refused:
            await ship.options(connection=connection).enqueue(1)
        assert refused.value.code == "bad_connection"

    async with shop:
        await refused("postgresql://", "str")
        await refused(OtherDriversConnection(), "psycopg2.extensions.OtherDriversConnection")
        async with asyncpg.create_pool(url, min_size=1) as pool:
            await refused(pool, "asyncpg.pool.Pool")
        with create_engine("sqlite://", poolclass=NullPool).connect() as connection:
            await refused(connection, "SQLAlchemy over pysqlite")
        with pytest.raises(CrontyError, match="options of enqueue"):
            await ship.options(connection="postgresql://").schedule("in 2 hours", 1)


async def test_a_connection_to_another_database_is_refused(shop: Cronty, server_url: str) -> None:
    @shop.task
    async def ship(order: int) -> None: ...

    async def refused(url: str) -> None:
        async with connected(url) as connection, connection.transaction():
            with pytest.raises(CrontyError, match="isn't on Cronty's database") as refused:
                await ship.options(connection=connection).enqueue(1)
            assert await connection.fetchval("select 1") == 1, "its transaction goes on"
        assert refused.value.code == "bad_connection"

    async with shop:
        await refused(server_url)
        with_one = database_named(server_url, "cronty_of_another_program")
        await refused(await asyncio.to_thread(with_one.__enter__))
        await asyncio.to_thread(with_one.__exit__, None, None, None)


async def test_a_role_needs_one_right_and_is_told_which(shop: Cronty, url: str, sql: asyncpg.Connection) -> None:
    @shop.task
    async def ship(order: int) -> int:
        return order

    await sql.execute("create role shop_role")
    try:
        async with shop, connected(url) as connection:
            await connection.execute("set role shop_role")
            with pytest.raises(CrontyError, match=r"grant usage on schema cronty.*cronty\.enqueue\(text, text\)"):
                async with connection.transaction():
                    await ship.options(connection=connection).enqueue(1)
            await sql.execute("grant usage on schema cronty to shop_role")
            await sql.execute("grant execute on function cronty.enqueue(text, text) to shop_role")
            async with connection.transaction():
                run = await ship.options(connection=connection).enqueue(1)
                assert await connection.fetchval("select current_user") == "shop_role", "its role stays its own"
            assert await run.result(timeout=PATIENCE) == 1
            for _ in range(2):
                async with connection.transaction():
                    await ship.options(connection=connection, unique=True, delay=3600).enqueue(2)
            assert await sql.fetchval("select count(*) from cronty.jobs") == 2
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch("select * from cronty.jobs")
    finally:
        await sql.execute("drop owned by shop_role")
        await sql.execute("drop role shop_role")


async def test_the_program_of_the_page_does_what_it_says(url: str, sql: asyncpg.Connection) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/enqueue.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    try:
        ran = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", program],
            env={**os.environ, "CRONTY_DATABASE_URL": url},
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert ran.stdout.splitlines() == [
            "invoice for order 7", "no order 8 and no invoice for it: the card was declined"
        ], ran.stderr  # fmt: skip
        assert [row["id"] for row in await sql.fetch("select id from orders")] == [7]
        assert await sql.fetchval("select count(*) from cronty.jobs") == 1
    finally:
        await sql.execute("drop table if exists orders")
