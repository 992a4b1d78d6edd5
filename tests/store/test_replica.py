"""People look at a streaming replica, unless it is behind, away, or lacks what they have just written."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Generator
from typing import override

import asyncpg
import pytest

from chaos.postgres import Postgres
from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Ok, value_of
from cronty.scheduler import Scheduler
from cronty.store.database import Database
from cronty.store.job_store import JobStore
from cronty.store.migrate import migrate
from cronty.store.replica import FURTHEST_BEHIND, LEFT_ALONE, Replica, replica_url
from cronty.telemetry import ReplicaOutage
from tests.patience import PATIENCE


class Standby(Postgres):
    """A streaming replica of a running cluster."""

    def __init__(self, primary: Postgres) -> None:
        self._primary = primary
        super().__init__()

    @override
    def _make(self) -> None:
        self._run("pg_basebackup", "-R", "-c", "fast", "-D", str(self._data), "-d", self._primary.url)


@pytest.fixture(scope="module")
def primary() -> Generator[Postgres]:
    made = Postgres(fsync="off")
    made.start()
    try:
        asyncio.run(migrate(made.url))
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def standby(primary: Postgres) -> Generator[Postgres]:
    made = Standby(primary)
    made.start()
    try:
        yield made
    finally:
        made.close()


class Watch:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def database(primary: Postgres, standby: Postgres, watch: Watch) -> AsyncGenerator[Database]:
    opened = await Database(primary.url).open()
    copy = Database(replica_url(standby.url), outage=ReplicaOutage())
    opened.replica = Replica(copy, opened, watch)
    yield opened
    await copy.close()
    await opened.close()


async def at_replica(database: Database, owner: str) -> bool:
    """Where a person who looks on behalf of an owner is answered."""
    return await database.of(owner).for_display().value("replayed_through") is not None


async def until_at_replica(database: Database, owner: str, watch: Watch) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await at_replica(database, owner):
            watch.seconds += 1
            await asyncio.sleep(0.01)


async def add(door: Scheduler, owner: str) -> None:
    made = await door.schedule(
        local_caller(owner), ScheduleJob("look", "prompt", "interval", {"hours": 1}, kwargs={"prompt": "x"})
    )
    assert isinstance(made, Ok), made


async def listed(door: Scheduler, owner: str) -> int:
    page = await door.list_jobs(local_caller(owner), for_display=True)
    assert isinstance(page, Ok)
    return page.value.total


async def test_a_person_sees_what_they_wrote_and_looks_at_the_replica_when_it_has_it(
    database: Database, standby: Postgres, watch: Watch
) -> None:
    door = Scheduler(JobStore(database))
    await add(door, "ann")
    await until_at_replica(database, "ann", watch)
    await until_at_replica(database, "bob", watch)
    assert await listed(door, "ann") == 1
    assert await database.of("ann").for_display().value("owner_id", "ann") is not None
    assert await database.of("bob").for_display().value("owner_id", "ann") is None, "the wall stands there too"
    assert await database.of("ann").value("replayed_through") is None, "who doesn't only look asks the primary"
    sql = await asyncpg.connect(standby.url)
    await sql.execute("select pg_wal_replay_pause()")
    async with asyncio.timeout(PATIENCE):
        while await sql.fetchval("select pg_get_wal_replay_pause_state()") != "paused":
            await asyncio.sleep(0.01)
    try:
        await add(door, "ann")
        assert not await at_replica(database, "ann")
        assert await listed(door, "ann") == 2
        assert await at_replica(database, "bob"), "he has written nothing"
        watch.seconds += FURTHEST_BEHIND + 1
        await add(door, "ann")  # or the replica lacks nothing
        assert not await at_replica(database, "bob"), "it is too far behind"
    finally:
        await sql.execute("select pg_wal_replay_resume()")
        await sql.close()
    await until_at_replica(database, "ann", watch)
    assert await listed(door, "ann") == 3


async def test_while_the_replica_is_away_the_primary_answers_and_that_is_said_once(
    database: Database, standby: Postgres, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    await until_at_replica(database, "ann", watch)
    standby.stop("immediate")
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            assert not await at_replica(database, "ann")
            watch.seconds += LEFT_ALONE
    assert [line.getMessage()[:28] for line in caplog.records] == ["The replica can't be used: P"]
    standby.start()
    await until_at_replica(database, "ann", watch)


async def test_nothing_is_remembered_for_long_while_the_replica_is_away(primary: Postgres, watch: Watch) -> None:
    database = await Database(primary.url).open()
    copy = Database(f"postgresql://postgres@/postgres?host=/nowhere{os.getpid()}", outage=ReplicaOutage())
    replica = Replica(copy, database, watch)
    for number in range(30):
        replica.wrote(f"owner {number}")
        replica.wrote("ann")
        assert not await replica.will_do("ann")
        watch.seconds += LEFT_ALONE
    assert len(replica._marks) == 1  # pyright: ignore[reportPrivateUsage]
    assert len(replica._wrote) == 2  # pyright: ignore[reportPrivateUsage]
    await database.close()


async def test_a_replica_that_was_promoted_is_no_replica(primary: Postgres, watch: Watch) -> None:
    promoted = Standby(primary)
    promoted.start()
    try:
        database = await Database(primary.url).open()
        replica = database.replica = Replica(
            Database(replica_url(promoted.url), outage=ReplicaOutage()), database, watch
        )
        await until_at_replica(database, "ann", watch)
        sql = await asyncpg.connect(promoted.url)
        assert await sql.fetchval("select pg_promote()")
        await sql.close()
        watch.seconds += FURTHEST_BEHIND + 1
        assert not await replica.will_do("ann")
        await replica.close()
        await database.close()
    finally:
        promoted.close()


async def test_a_program_starts_while_its_replica_is_away(primary: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_REPLICA_URL", f"postgresql://postgres@/postgres?host=/nowhere{os.getpid()}")
    async with Cronty(primary.url, run_jobs=False) as cronty:
        assert (await cronty.service.overview.concerns(local_caller("ann"))).total == 0
        assert value_of(await cronty.service.overview.fleet(cronty.caller)).running == 0
