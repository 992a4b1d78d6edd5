"""How many connections a process opens, and that no owner has all of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from re import search

import asyncpg
import pytest

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.settings import Settings
from cronty.store import pool as pool_module
from cronty.store.database import Database, StoreBusy
from tests.conftest import add
from tests.patience import PATIENCE
from tests.pooler import direct_only

OPEN = """
select application_name, count(*) from pg_stat_activity
where datname = current_database() and application_name like 'cronty %' group by 1
"""


async def opened(sql: asyncpg.Connection) -> dict[str, int]:
    return {row[0]: row[1] for row in await sql.fetch(OPEN)}


@asynccontextmanager
async def one_thing_held(sql: asyncpg.Connection) -> AsyncGenerator[None]:
    """Until the block ends, whoever wants it waits."""
    await sql.execute("select pg_advisory_lock(12)")
    try:
        yield
    finally:
        await sql.execute("select pg_advisory_unlock(12)")


async def want_it(database: Database, owner: str) -> None:
    async with database.of(owner).transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock_shared(12)")


async def test_an_owner_whose_answers_are_slow_leaves_half_of_the_connections_to_others(
    url: str, sql: asyncpg.Connection
) -> None:
    database = await Database(url, size=4).open()
    try:
        async with asyncio.timeout(PATIENCE):
            async with one_thing_held(sql):
                waiting = [asyncio.ensure_future(want_it(database, "ann")) for _ in range(20)]
                while (await opened(sql)).get("cronty door", 0) < 2:
                    await asyncio.sleep(0.01)
                await asyncio.gather(*(database.of(owner).value("owner_id", owner) for owner in ("bob", "cid")))
                assert not any(one.done() for one in waiting)
            await asyncio.gather(*waiting)
        assert database.pool._shares == {}, "an owner who isn't there takes no room"  # pyright: ignore[reportPrivateUsage]
    finally:
        await database.close()


async def test_an_owner_who_gives_up_waiting_leaves_no_place_taken(url: str, sql: asyncpg.Connection) -> None:
    database = await Database(url, size=2).open()
    try:
        async with asyncio.timeout(PATIENCE), one_thing_held(sql):
            waiting = [asyncio.ensure_future(want_it(database, "ann")) for _ in range(3)]
            await asyncio.sleep(0)
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert await database.of("ann").value("owner_id", "ann") is None
    finally:
        await database.close()


@direct_only("it has the connections, not PostgreSQL")
@pytest.mark.parametrize(("door", "engine"), [(8, 8), (3, 4)])
async def test_a_busy_process_opens_as_many_connections_as_its_settings_say(
    url: str, sql: asyncpg.Connection, door: int, engine: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONTY_DOOR_CONNECTIONS", str(door))
    monkeypatch.setenv("CRONTY_ENGINE_CONNECTIONS", str(engine))
    cronty = Cronty(url)
    ran: list[int] = []

    @cronty.task
    def note(number: int) -> None:  # pyright: ignore[reportUnusedFunction]
        ran.append(number)

    most = Counter[str]()

    async def ask(owner: str) -> None:
        for number in range(20):
            await add(cronty.service.scheduler, "once", {"run_at": "in 1 second"}, owner=owner, args=(number,))
            await cronty.service.scheduler.list_jobs(local_caller(owner))

    async def count(stop: asyncio.Event) -> None:
        while not stop.is_set():
            for name, connections in (await opened(sql)).items():
                most[name] = max(most[name], connections)
            await asyncio.sleep(0.01)

    async with asyncio.timeout(PATIENCE), cronty:
        stop = asyncio.Event()
        counting = asyncio.ensure_future(count(stop))
        await asyncio.gather(*(ask(f"owner {number}") for number in range(12)))
        while len(ran) < 12 * 20:
            await asyncio.sleep(0.01)
        stop.set()
        await counting
    assert most["cronty door"] == door
    assert most["cronty engine"] <= engine
    assert most["cronty listen"] == 1
    assert set(most) <= {"cronty door", "cronty engine", "cronty listen"}


@direct_only("it has the connections, not PostgreSQL")
async def test_a_command_that_asks_opens_two_connections_at_most(url: str, sql: asyncpg.Connection) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        await cronty.list_jobs()
        await cronty.list_failed_runs()
        assert sum((await opened(sql)).values()) <= 2


def test_the_docs_say_how_many_connections_a_process_opens() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text()
    found = search(r"\| `cronty work`[^|]*\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", page)
    assert found is not None
    door, engine, listens, all_of_them = map(int, found.groups())
    fields = Settings.model_fields
    assert (door, engine) == (fields["door_connections"].default, fields["engine_connections"].default)
    assert (listens, all_of_them) == (1, door + engine + 1)


async def test_whoever_finds_no_place_is_told_in_the_end(
    url: str, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "MAX_WAIT", 0.2)
    database = await Database(url, size=2).open()
    try:
        async with asyncio.timeout(PATIENCE):
            async with one_thing_held(sql):
                waiting = asyncio.ensure_future(want_it(database, "ann"))
                while (await opened(sql)).get("cronty door", 0) < 1:
                    await asyncio.sleep(0.01)
                with pytest.raises(StoreBusy, match="in use"):
                    await database.of("ann").value("owner_id", "ann")
            await waiting
    finally:
        await database.close()


async def test_what_names_no_owner_leaves_half_of_the_connections_to_others(url: str, sql: asyncpg.Connection) -> None:
    database = await Database(url, size=4).open()

    async def anonymously() -> None:
        async with database.transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock_shared(12)")

    try:
        async with asyncio.timeout(PATIENCE):
            async with one_thing_held(sql):
                waiting = [asyncio.ensure_future(anonymously()) for _ in range(20)]
                while (await opened(sql)).get("cronty door", 0) < 2:
                    await asyncio.sleep(0.01)
                assert await database.of("ann").value("owner_id", "ann") is None
                assert not any(one.done() for one in waiting)
            await asyncio.gather(*waiting)
    finally:
        await database.close()
