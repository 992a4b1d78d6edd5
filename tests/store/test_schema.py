"""The migrations are the only way to the schema; the photograph shows what they build."""

import asyncio

import asyncpg
import pytest

from cronty.store.database import StoreBusy
from cronty.store.migrate import migrate, schema_state
from cronty.store.photograph import PHOTOGRAPH, describe
from cronty.store.schema import wanted
from tests.conftest import Hands, with_database
from tests.patience import PATIENCE


async def test_the_photograph_shows_what_the_migrations_build(sql: asyncpg.Connection) -> None:
    assert await describe(sql) == PHOTOGRAPH.read_text(encoding="utf-8"), (
        "Run `just photograph` and look at the difference."
    )


async def test_many_processes_may_migrate_at_once_and_each_file_is_applied_once(server_url: str) -> None:
    admin = await asyncpg.connect(server_url)
    await admin.execute("drop database if exists cronty_fresh")
    await admin.execute("create database cronty_fresh")
    url = with_database(server_url, "cronty_fresh")
    try:
        assert (await schema_state(url)).missing == [*wanted().names, "walls"]
        applied = await asyncio.gather(*(migrate(url) for _ in range(5)))
        assert sorted(name for names in applied for name in names) == [*wanted().names, "walls"]
        assert (await schema_state(url)).missing == []
    finally:
        await admin.execute("drop database cronty_fresh")
        await admin.close()


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("state = 'running', finished_at = null", "running_means_held"),
        ("worker = 1", "running_means_held"),
        ("finished_at = null", "a_verdict_has_its_time"),
        ("slots = 2", "a_range_is_a_verdict"),
    ],
)
async def test_states_are_guarded_by_the_database_too(sql: asyncpg.Connection, change: str, rule: str) -> None:
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, finished_at)"
        " values (1, now(), 1, 'done', 1, now())"
    )
    with pytest.raises(asyncpg.CheckViolationError, match=rule):
        await sql.execute(f"update cronty.runs set {change}")


async def test_weeks_are_made_once_and_dropped_when_they_are_old(sql: asyncpg.Connection) -> None:
    monday = "timestamptz '2031-01-06 00:00+00'"
    assert await sql.fetchval(f"select cronty.make_run_partition({monday})")
    assert not await sql.fetchval(f"select cronty.make_run_partition({monday})")
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state, finished_at) select i,"
        f" {monday} + i * interval '1 day', 1, 'missed', now() from generate_series(1, 6) i"
    )
    while await sql.fetchval("select cronty.drop_run_partition('2031-01-13 00:00+00')"):
        pass
    assert await sql.fetchval("select count(*) from cronty.runs") == 0
    assert await sql.fetchval("select to_regclass('cronty.runs_20310106')") is None


async def test_a_reader_of_everything_keeps_no_week_from_being_made(url: str, sql: asyncpg.Connection) -> None:
    """pg_dump holds every table for as long as it takes; writers must not queue behind a week that waits for it."""
    await sql.execute("drop table if exists cronty.runs_20320105")
    reader = await asyncpg.connect(url)
    try:
        await reader.execute("begin; select count(*) from cronty.runs")
        await sql.execute("set lock_timeout = '100ms'")
        assert await sql.fetchval("select cronty.make_run_partition('2032-01-05 00:00+00')")
        await sql.execute(
            "insert into cronty.runs (job_id, scheduled_for, owner_id, state, finished_at)"
            " values (1, '2032-01-06 00:00+00', 1, 'missed', now())"
        )
    finally:
        await reader.close()
    await sql.execute("drop table cronty.runs_20320105")


async def test_history_in_use_is_dropped_later(hands: Hands, url: str, sql: asyncpg.Connection) -> None:
    history = hands.engine.pruning.store
    await sql.execute("select cronty.make_run_partition('2001-01-01 00:00+00')")
    reader = await asyncpg.connect(url)
    try:
        await reader.execute("begin; select count(*) from cronty.runs")
        with pytest.raises(StoreBusy):
            await history.drop_partition(3600)
    finally:
        await reader.close()
    assert await history.drop_partition(3600)


async def test_two_that_drop_the_same_week_do_not_get_in_each_others_way(url: str, sql: asyncpg.Connection) -> None:
    await sql.execute("select cronty.make_run_partition('2001-01-01 00:00+00')")
    drop = "select cronty.drop_run_partition('2001-02-01 00:00+00')"
    other = await asyncpg.connect(url)
    try:
        await sql.execute("begin")
        assert await sql.fetchval(drop)
        second = asyncio.create_task(other.fetchval(drop))
        waits = "select exists (select from pg_locks where pid = $1 and not granted)"
        async with asyncio.timeout(PATIENCE):
            while not await sql.fetchval(waits, other.get_server_pid()):
                await asyncio.sleep(0.001)
        await sql.execute("commit")
        assert not await second
    finally:
        await other.close()


async def test_a_week_with_a_run_in_flight_is_not_dropped(sql: asyncpg.Connection) -> None:
    await sql.execute("select cronty.make_run_partition('2031-01-06 00:00+00')")
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state, worker)"
        " values (1, '2031-01-07 00:00+00', 1, 'running', 1)"
    )
    await sql.fetchval("select cronty.drop_run_partition('2032-01-01 00:00+00')")
    assert await sql.fetchval("select count(*) from cronty.runs") == 1
    await sql.execute("drop table cronty.runs_20310106")
