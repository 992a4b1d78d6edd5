"""A version that meets a schema newer than itself goes on beside it or stops, as the newer version's migrations say."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable

import asyncpg
import pytest

from cronty import Cronty
from cronty.cli.processes import _work_until_stopped  # pyright: ignore[reportPrivateUsage] -- it ends with the process
from cronty.store.migrate import migrate, schema_state
from cronty.store.schema import SchemaOutdated, SchemaTooNew, compare, wanted
from tests.patience import PATIENCE

type Newer = Callable[[str, bool], Awaitable[None]]


@pytest.fixture
async def newer(sql: asyncpg.Connection) -> AsyncGenerator[Newer]:
    """What a newer version leaves in the database: a migration, beside which older code works or doesn't."""

    async def apply(name: str, older_code_works: bool) -> None:
        await sql.execute(
            "insert into cronty.migrations (name, older_code_works, walls) values ($1, $2, 'other walls')",
            name,
            older_code_works,
        )

    yield apply
    await sql.execute("delete from cronty.migrations where name like '9%'")


async def test_it_goes_on_beside_migrations_that_say_so_and_says_it_once(
    url: str, newer: Newer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "cronty")
    await newer("9001_column", True)
    async with Cronty(url) as cronty:
        await cronty.check_schema()
        await cronty.check_schema()
        assert (await cronty.list_jobs()).total == 0
        assert caplog.text.count("migrations of a newer version (9001_column)") == 1
        await newer("9002_index", True)
        await cronty.check_schema()
        assert caplog.text.count("(9001_column, 9002_index)") == 1


async def test_it_does_not_start_beside_a_migration_that_says_it_must_stop(url: str, newer: Newer) -> None:
    await newer("9001_column", True)
    await newer("9002_rewrite", False)
    with pytest.raises(SchemaTooNew, match=r"newer version \(9002_rewrite\).*Upgrade Cronty here"):
        async with Cronty(url, run_jobs=False):
            pass


async def test_a_process_at_work_stops_when_such_a_migration_is_applied(
    url: str, newer: Newer, sql: asyncpg.Connection
) -> None:
    alive = "select count(*) from cronty.workers where lease_until > now()"
    cronty, stopped = Cronty(url), asyncio.Event()
    cronty.when_outgrown = stopped.set
    await cronty.__aenter__()
    assert await sql.fetchval(alive) == 1
    await newer("9001_rewrite", False)
    await cronty.check_schema()
    await asyncio.wait_for(stopped.wait(), PATIENCE)
    assert await sql.fetchval(alive) == 0, "its runs are finished or handed over, and its lease given up"
    with pytest.raises(SchemaTooNew, match="9001_rewrite"):
        await cronty.list_jobs()
    with pytest.raises(SchemaTooNew, match="9001_rewrite"):  # leaving says why it stopped
        await cronty.__aexit__()


async def test_a_worker_process_ends_when_such_a_migration_is_applied(
    url: str, newer: Newer, sql: asyncpg.Connection
) -> None:
    cronty = Cronty(url)
    working = asyncio.create_task(_work_until_stopped(cronty))
    async with asyncio.timeout(PATIENCE):
        while not await sql.fetchval("select count(*) from cronty.workers"):
            await asyncio.sleep(0.01)
        await newer("9001_rewrite", False)
        await cronty.check_schema()
        with pytest.raises(SchemaTooNew):
            await working


async def test_an_older_version_that_migrates_changes_nothing(url: str, newer: Newer, sql: asyncpg.Connection) -> None:
    await newer("9001_column", True)
    policies = "select string_agg(xmin::text, ' ' order by oid) from pg_policy"
    before = await sql.fetchval(policies)
    await sql.execute("update cronty.migrations set walls = null where name not like '9%'")
    try:
        assert await migrate(url) == []
        assert (await schema_state(url)).missing == [], "walls are the business of the newest version"
    finally:
        await sql.execute(
            "update cronty.migrations set walls = $2 where name = $1", wanted().names[-1], wanted().digest
        )
    assert await sql.fetchval(policies) == before


async def test_a_schema_restored_to_an_older_one_stops_it_too(url: str, sql: asyncpg.Connection) -> None:
    last = wanted().names[-1]
    row = await sql.fetchrow("delete from cronty.migrations where name = $1 returning *", last)
    assert row is not None
    try:
        with pytest.raises(SchemaOutdated, match=f"{last} first. Run `cronty migrate`"):
            async with Cronty(url, run_jobs=False):
                pass
    finally:
        await sql.execute("insert into cronty.migrations values ($1, $2, $3, $4)", *row)


def test_a_rolled_back_version_finds_its_own_walls_recorded_and_needs_nothing() -> None:
    mine = wanted()
    rows = [
        {"name": mine.names[-1], "older_code_works": False, "walls": mine.digest},
        {"name": "9001_column", "older_code_works": True, "walls": "newer walls"},
    ]
    state = compare(mine, rows)
    assert (state.missing, state.newer, state.incompatible, state.new_walls) == ([], ["9001_column"], [], False)
