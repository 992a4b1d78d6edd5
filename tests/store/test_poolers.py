"""Behind PgBouncer: what works, what can't, and that each wrong setup is named, by the doctor and at start."""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest
from typer.testing import CliRunner

from cronty import Cronty
from cronty.cli.main import app
from cronty.store.database import HOT_PATH, Database, StoreMisnamed
from cronty.store.health import look
from cronty.store.listen import listen
from cronty.store.migrate import migrate, schema_state
from cronty.store.poolers import Way, way_of
from tests.conftest import as_user, with_database
from tests.patience import PATIENCE
from tests.pooler import KEEPS_PREPARED, PgBouncer, need_pgbouncer, pgbouncer, version

PRODUCTION = Path(__file__).parents[2] / "docs/how-to/production.md"
IGNORED = ",".join([*HOT_PATH, "statement_timeout", "jit"])


@pytest.fixture(scope="module")
def pooler(server_url: str) -> Generator[PgBouncer]:
    """In transaction mode, giving sessions in turn."""
    need_pgbouncer(at_least=KEEPS_PREPARED)
    with pgbouncer(server_url, server_round_robin=1) as running:
        yield running


@pytest.fixture
async def through(pooler: PgBouncer, url: str) -> AsyncGenerator[Database]:
    database = await Database(pooler.url_of(url), direct=url, hot=True).open()
    yield database
    await database.close()


# -- what is recognized ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({}, Way.TRANSACTIONS),
        ({"server_round_robin": 1}, Way.TRANSACTIONS),
        ({"default_pool_size": 1}, Way.TRANSACTIONS),
        ({"pool_mode": "session"}, Way.SESSIONS),
        ({"pool_mode": "statement"}, Way.STATEMENTS),
        ({"max_prepared_statements": 0}, Way.UNPREPARED),
    ],
)
async def test_what_is_between_us_and_postgresql_is_recognized(url: str, settings: dict[str, object], way: Way) -> None:
    need_pgbouncer()
    if version() < KEEPS_PREPARED:
        settings.pop("max_prepared_statements", None)  # it has no such setting, and is like that
        way = Way.UNPREPARED if way is Way.TRANSACTIONS else way
    with pgbouncer(url, **settings) as running:
        assert await way_of(lambda: asyncpg.connect(running.url_of(url))) is way
    assert await way_of(lambda: asyncpg.connect(url)) is Way.DIRECT


WRONG: dict[str, tuple[dict[str, object], str, str | None, str]] = {
    "no direct URL": ({}, "pooled", None, "a pooler is there (unsupported startup parameter"),
    "no direct URL, and parameters are dropped": (
        {"ignore_startup_parameters": IGNORED}, "pooled", None,
        "leads to a pooler in transaction mode, and there is no other: set CRONTY_DIRECT_URL",
    ),
    "a pooler of sessions that drops parameters": (
        {"ignore_startup_parameters": IGNORED, "pool_mode": "session"}, "pooled", None,
        "which drops the parameters that we connect with: set CRONTY_DIRECT_URL",
    ),
    "a direct URL that isn't": (
        {}, "pooled", "pooled", "CRONTY_DIRECT_URL leads to a pooler in transaction mode, where nothing is heard",
    ),
    "two databases": ({}, "pooled", "elsewhere", "CRONTY_DATABASE_URL lead to different databases"),
    "statement mode": ({"pool_mode": "statement"}, "pooled", "direct", "leads to a pooler in statement mode"),
    "no prepared statements": (
        {"max_prepared_statements": 0}, "pooled", "direct",
        "PgBouncer must be 1.21 or newer, with max_prepared_statements above 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("setup", WRONG)
def test_a_wrong_setup_is_named_by_the_doctor_and_at_start(
    setup: str, url: str, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, pooled, direct, said = WRONG[setup]
    old = setup == "no prepared statements"
    need_pgbouncer(at_least=(1, 0) if old or "statement mode" in setup or direct is None else KEEPS_PREPARED)
    if old and version() < KEEPS_PREPARED:
        settings = {}
    if direct is None and version() < KEEPS_PREPARED:
        said = said.replace("leads to a pooler in transaction mode", "leads to a pooler that loses prepared statements")
    with pgbouncer(server_url, **settings) as running:
        urls = {"pooled": running.url_of(url), "direct": url, "elsewhere": server_url}
        monkeypatch.setenv("CRONTY_DATABASE_URL", urls[pooled])
        if direct is not None:
            monkeypatch.setenv("CRONTY_DIRECT_URL", urls[direct])

        async def start() -> None:
            async with Cronty():
                pass

        with pytest.raises(StoreMisnamed, match=re.escape(said)):
            asyncio.run(start())
        answer = CliRunner().invoke(app, ["doctor", "--json"])
        assert answer.exit_code != 0
        assert said in answer.output or said in str(answer.exception)


BRINGING = "with acting as (select $1::cronty.settings)"


# -- what goes through ----------------------------------------------------------------------------------------------


async def test_a_statement_brings_its_settings_and_leaves_nothing_behind(through: Database) -> None:
    names = [*HOT_PATH, "statement_timeout", "jit"]
    asked = f"select array[{', '.join(f"current_setting('{name}')" for name in names)}]"
    usual = [*HOT_PATH.values(), "10s", "off"]
    async with through.pool.lend() as connection:
        before = await connection.fetchval(asked)
        assert before != usual
        assert await connection.fetchval(f"{BRINGING} {asked}", through.settings) == usual
        for _ in range(3):
            assert await connection.fetchval(asked) == before, "in any session"
        with pytest.raises(asyncpg.QueryCanceledError, match="statement timeout"):
            await connection.fetchval(f"{BRINGING} select pg_sleep(60)", '{"statement_timeout": "50ms"}')
    async with through.transaction() as connection:
        assert await connection.fetchval(asked) == usual
        if connection.get_server_version().major >= 17:
            assert await connection.fetchval("select current_setting('transaction_timeout')") == "20s"


async def test_a_statement_is_planned_under_the_settings_that_it_brings(
    through: Database, sql: asyncpg.Connection
) -> None:
    """PostgreSQL plans a statement anew five times before it keeps a plan, unless told otherwise."""
    statement = await sql.prepare(f"{BRINGING} select 1 where $2 = 1")
    await statement.fetchval(through.settings, 1)
    kept = "select array[generic_plans, custom_plans] from pg_prepared_statements where name = $1"
    assert await sql.fetchval(kept, statement.get_name()) == [1, 0]


async def test_what_is_notified_through_the_pooler_is_heard_directly(through: Database) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listening = asyncio.create_task(listen(through, heard.put_nowait))
    try:
        async with asyncio.timeout(PATIENCE):
            assert await heard.get() == "listening"
            async with through.transaction() as connection:
                await connection.execute("select pg_notify('cronty', 'queue')")
            assert await heard.get() == "queue"
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_a_server_that_was_read_only_is_used_again(
    pooler: PgBouncer, server_url: str, sql: asyncpg.Connection
) -> None:
    """A pooler goes on to tell new connections what the server was when it first got there."""
    name = f"cronty_read_only_{os.getpid()}"
    await sql.execute(f"create database {name}")
    try:
        url = with_database(server_url, name)
        await migrate(url)
        await sql.execute(f"alter database {name} set default_transaction_read_only = on")
        first = await asyncpg.connect(pooler.url_of(url))
        assert await first.fetchval("show transaction_read_only") == "on"
        await first.close()
        await sql.execute(f"alter database {name} reset default_transaction_read_only")
        await sql.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
        database = await Database(pooler.url_of(url), direct=url, hot=True).open()
        await database.close()
    finally:
        await sql.execute(f"drop database {name} with (force)")


async def test_an_owner_stays_in_no_session(through: Database) -> None:
    served_by = set[int]()
    for owner in ("ann", "bob") * 3:
        await through.of(owner).value("owner_id", owner)
        async with through.pool.lend() as connection:
            served_by.add(await connection.fetchval("select pg_backend_pid()"))
            assert await connection.fetchval("select current_user = session_user")
            assert not await connection.fetchval("select current_setting('cronty.owner', true)")
        async with through.of(owner).transaction() as connection:
            assert await connection.fetchval("select current_setting('cronty.owner')") == owner
            async with through.of("eve").transaction() as other:  # so that there are two sessions to give
                assert await other.fetchval("select current_setting('cronty.owner')") == "eve"
    assert len(served_by) > 1


# -- roles ----------------------------------------------------------------------------------------------------------


def role_sql() -> str:
    """What production.md has a superuser run."""
    [block] = re.findall(r"^## The roles\n.*?```sql\n(.*?)```", PRODUCTION.read_text(encoding="utf-8"), re.M | re.S)
    return block


@asynccontextmanager
async def installed(server_url: str) -> AsyncGenerator[str]:
    """The roles and the database of production.md, empty."""
    admin = await asyncpg.connect(server_url)

    async def remove() -> None:
        await admin.execute("drop database if exists cronty with (force)")
        await admin.execute("drop role if exists cronty_owner")
        await admin.execute("drop role if exists cronty_service")

    await remove()
    there = {row[0] for row in await admin.fetch("select rolname from pg_roles")}
    try:
        for statement in re.sub(r"'change me.*?'", "'secret'", role_sql()).split(";"):
            made = re.search(r"create role (\w+)", statement)
            if statement.strip() and not (made and made[1] in there):
                await admin.execute(statement)
        yield with_database(server_url, "cronty")
    finally:
        await remove()
        await admin.close()


@pytest.mark.parametrize("way", ["directly", "through a pooler"])
async def test_the_service_needs_no_more_than_its_role_may(
    server_url: str, migrated_url: str, way: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way != "directly":
        need_pgbouncer(at_least=KEEPS_PREPARED)
    assert migrated_url, "the roles of the walls are there"
    async with installed(server_url) as url:
        await migrate(as_user(url, "cronty_owner"))
        mine = as_user(url, "cronty_service")
        connection = await asyncpg.connect(mine)
        for more in ("create table cronty.theirs ()", "create schema theirs", "create temp table theirs ()"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(more)
        await connection.close()
        health = await look(mine)
        assert ((await schema_state(mine)).walls, health.almighty) == (None, False)
        if way == "directly":
            await use(mine)
        else:
            with pgbouncer(server_url, "cronty_service", server_round_robin=1) as running:
                monkeypatch.setenv("CRONTY_DIRECT_URL", mine)
                await use(running.url_of(mine))
    assert [one.getMessage() for one in caplog.records if one.levelname in ("WARNING", "ERROR")] == []


async def use(url: str) -> None:
    """A run is asked for and another comes from a schedule; both are performed."""
    cronty, rung = Cronty(url), asyncio.Semaphore(0)

    @cronty.task
    async def ring() -> None:
        rung.release()

    async with cronty:
        run = await ring.enqueue()
        await ring.schedule(timedelta(seconds=1))
        async with asyncio.timeout(PATIENCE):
            await run.result()
            for _ in range(2):
                await rung.acquire()
        assert await cronty.why_not_ready() is None
        assert "cronty_" in await cronty.metrics()


async def test_a_login_without_rights_is_named(server_url: str, url: str) -> None:
    admin = await asyncpg.connect(server_url)
    await admin.execute("drop role if exists cronty_nobody")
    await admin.execute("create role cronty_nobody login password 'secret'")
    try:
        with pytest.raises(
            StoreMisnamed, match=r"isn't a member of cronty_app, cronty_engine.*grant cronty_app, cronty_engine to"
        ):
            async with Cronty(as_user(url, "cronty_nobody")):
                pass
    finally:
        await admin.execute("drop role cronty_nobody")
        await admin.close()


def test_a_superuser_is_named_by_the_doctor_and_at_start(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    answer = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)
    [role] = [one for one in answer["findings"] if one["what"] == "role"]
    assert (role["good"], role["said"].partition(",")[0]) == (False, "a superuser")

    async def start() -> None:
        async with Cronty():
            pass

    with caplog.at_level("INFO"):
        asyncio.run(start())
    assert [one for one in caplog.messages if "is a superuser" in one]
