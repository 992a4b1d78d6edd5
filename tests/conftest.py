"""A real PostgreSQL for the whole run, an empty schema for each test, and a clock in the hand."""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Ok
from cronty.engine.engine import Engine, EngineOptions
from cronty.engine.handing import Ahead
from cronty.jobs.job import Job
from cronty.scheduler import Scheduler
from cronty.store.database import Database, query
from cronty.store.engine_store import EngineStore
from cronty.store.job_store import JobStore
from cronty.store.migrate import migrate
from cronty.store.scratch import EMPTY, scratch_server
from tests.agents.stage import Stage, staged
from tests.patience import PATIENCE
from tests.pooled.sitecustomize import through_the_pooler
from tests.pooler import KEEPS_PREPARED, need_pgbouncer, pgbouncer

START = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)

_ENTRY = "at, owner_id, job_id, job_number, what, before, after, actor, client"
TRAIL = f"(select {_ENTRY} from cronty.audit_unsealed union all select {_ENTRY} from cronty.audit) entries"
"""Entries of the trail, sealed or not."""


class HandClock:
    """Time that moves only when a test moves it."""

    def __init__(self, start: datetime = START) -> None:
        self.moment = start

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, **by: float) -> datetime:
        self.moment += timedelta(**by)
        return self.moment


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Where the user that runs PostgreSQL for root can come through, as in most folders but pytest's."""
    if os.geteuid() == 0:
        for folder in (tmp_path, *list(tmp_path.parents)[:3]):  # with xdist there is one more
            folder.chmod(folder.stat().st_mode | 0o011)
    return tmp_path


SLOWEST = (
    "tests/cli/test_service.py",
    "tests/web/test_browser.py",
    "tests/chaos/test_faults.py",
    "tests/timing/test_calendar_oracle.py",
    "tests/clients/test_conformance.py",
    "tests/web/test_schemathesis.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest files first: last, they would keep one process busy while the others have nothing left to do."""
    places = {file: place for place, file in enumerate(SLOWEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A server from CRONTY_TEST_DATABASE_URL, or one started from the wheel.

    With several processes that names a server for each, because tests rename roles, which all databases of a server
    share.
    """
    if given := os.environ.get("CRONTY_TEST_DATABASE_URL", "").split():
        yield given[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % len(given)]
        return
    with scratch_server() as url:
        yield url


@pytest.fixture(scope="session", autouse=True)
def pooled(request: pytest.FixtureRequest) -> Iterator[None]:
    """With CRONTY_TEST_POOLED, what Cronty does goes through PgBouncer in transaction mode (`just test-pooled`).

    Tests themselves look at the server directly. Sessions are given in turn, so that nobody gets the same one twice.
    """
    if not os.environ.get("CRONTY_TEST_POOLED"):
        yield
        return
    need_pgbouncer(at_least=KEEPS_PREPARED)
    server_url: str = request.getfixturevalue("server_url")
    with pgbouncer(server_url, server_round_robin=1) as pooler, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRONTY_TEST_POOLER", f"{server_url} {pooler.url_of(server_url)}")
        patch.setenv("PYTHONPATH", str(Path(__file__).parent / "pooled"), prepend=os.pathsep)
        made = Database.__init__

        def led(self: Database, url: str, *, direct: str | None = None, **rest: Any) -> None:
            through = through_the_pooler(url) if direct is None else None
            made(self, through or url, direct=url if through else direct, **rest)

        patch.setattr(Database, "__init__", led)
        yield


@pytest.fixture(scope="session")
def migrated_url(server_url: str) -> str:
    """A database of this test run's own, migrated once."""
    name = f"cronty_test_{os.getpid()}"

    async def create() -> str:
        connection = await asyncpg.connect(server_url)
        await connection.execute(f"drop database if exists {name}")
        await connection.execute(f"create database {name}")
        await connection.close()
        url = with_database(server_url, name)
        await migrate(url)
        return url

    return asyncio.run(create())


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    head, _, tail = url.partition("?")
    return head.rsplit("/", 1)[0] + f"/{name}" + (f"?{tail}" if tail else "")


def as_user(url: str, user: str) -> str:
    """The same database for another user, whose password is `secret`."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{quote(user)}:secret@{parts.netloc.rpartition('@')[2]}"))


@contextmanager
def database_named(server_url: str, name: str) -> Generator[str]:
    """A migrated database that no other test empties, dropped in the end."""

    async def prepare(*statements: str) -> None:
        connection = await asyncpg.connect(server_url)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    asyncio.run(prepare(f"drop database if exists {name}", f"create database {name}"))
    url = with_database(server_url, name)
    asyncio.run(migrate(url))
    yield url
    asyncio.run(prepare(f"drop database {name} with (force)"))


TRUNCATE = """
do $$
begin
  set local session_replication_role = replica;
  execute (
    select format('truncate %s', string_agg(oid::regclass::text, ', '))
    from pg_class
    where relnamespace = 'cronty'::regnamespace and relkind = 'r' and relname not in ('migrations', 'server')
  );
end $$
"""
_WEEKS = "select array_agg(relname::text) from pg_class where relnamespace = 'cronty'::regnamespace and relkind = 'r'"


@pytest.fixture(scope="session")
def weeks() -> set[str]:
    """The tables there were when the partitions around the tests' day had been made."""
    return set()


@pytest.fixture
async def url(migrated_url: str, weeks: set[str]) -> str:
    """The database, empty."""
    connection = await asyncpg.connect(migrated_url)
    try:
        await connection.execute(EMPTY)
        if not weeks or not weeks <= set(await connection.fetchval(_WEEKS)):  # a test may have dropped some
            await connection.fetch(query("make_partitions"), START, [datetime.now(UTC)])
            if not weeks:
                weeks.update(await connection.fetchval(_WEEKS))
    finally:
        await connection.close()
    return migrated_url


@pytest.fixture
async def new_url(url: str) -> str:
    """The database as if nothing had ever been in it, for tests that count pages or look at plans."""
    connection = await asyncpg.connect(url)
    await connection.execute(TRUNCATE)
    await connection.close()
    return url


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Where programs of agents can work, whoever they run as."""
    with staged() as made:
        yield made


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def sql(url: str) -> AsyncGenerator[asyncpg.Connection]:
    """A connection for a test that looks for itself."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
async def database(url: str, clock: HandClock) -> AsyncGenerator[Database]:
    opened = await Database(url, clock=clock).open()
    yield opened
    await opened.close()


@pytest.fixture
def door(database: Database) -> Scheduler:
    return Scheduler(JobStore(database))


@dataclass(slots=True)
class Hands:
    """An engine whose duties are done one at a time, by the test."""

    engine: Engine
    store: EngineStore

    async def fire(self) -> None:
        """Fire all that is due, and let what this engine claimed end and be settled."""
        more = True
        while more:
            more = await self.engine.lease.claiming(self.engine.firing.step) < 0.1
            await self.finish()

    async def claim(self) -> None:
        more = True
        while more:
            more = await self.engine.lease.claiming(self.engine.claiming.step) == 0
            more = await self.engine.lease.claiming(self.engine.limited.step) == 0 or more
            await self.finish()

    async def finish(self) -> None:
        """Wait until nothing is in flight here."""
        async with asyncio.timeout(PATIENCE):
            while self.engine.working.in_flight:
                await self.engine.settling.step()
                await asyncio.sleep(0.001)

    async def all(self) -> None:
        await self.fire()
        await self.claim()
        await self.engine.alerting.step()

    async def outlive(self, clock: "HandClock") -> None:
        """Beat steadily for so long that every worker that doesn't has lost its lease; then strike them off."""
        for _ in range(8):
            await self.engine.lease.beat()
            clock.advance(seconds=10)
        await self.engine.rescuing.step()


@asynccontextmanager
async def hands_of(
    url: str, clock: HandClock | None, registry: Registry, ahead: Ahead | None = None, **options: object
) -> AsyncGenerator[Hands]:
    database = await Database(url, clock=clock, hot=True).open()
    store = EngineStore(database)
    engine = Engine(database, registry, EngineOptions(**options), ahead)  # pyright: ignore[reportArgumentType]
    await engine.enlist()
    try:
        yield Hands(engine, store)
    finally:
        engine.working.close()
        await database.close()


@pytest.fixture
def calls() -> list[tuple[object, ...]]:
    """What the task `note` was called with."""
    return []


@pytest.fixture
def registry(calls: list[tuple[object, ...]]) -> Registry:
    made = Registry()

    def note(*args: object) -> int:
        """Remember being called."""
        calls.append(args)
        return len(calls)

    def fail() -> None:
        raise ValueError("no luck")

    made.add(note)
    made.add(fail)
    return made


@pytest.fixture
async def hands(url: str, clock: HandClock, registry: Registry) -> AsyncGenerator[Hands]:
    async with hands_of(url, clock, registry) as made:
        yield made


async def add(
    door: Scheduler, trigger_type: str = "interval", config: dict[str, object] | None = None, *, owner: str = "ann",
    name: str = "a job", task: str = "note", args: tuple[object, ...] = (), caller: Caller | None = None,
    **rest: object,
) -> Job:  # fmt: skip
    """Schedule a job that must be accepted."""
    request = ScheduleJob(name, task, trigger_type, config or {"minutes": 1}, args=args, **rest)  # pyright: ignore[reportArgumentType]
    result = await door.schedule(caller or local_caller(owner), request)
    assert isinstance(result, Ok), result
    return result.value


async def look(door: Scheduler, job: Job) -> Job:
    """The job as it is now."""
    result = await door.show(local_caller(job.owner), job.number)
    assert isinstance(result, Ok), result
    return result.value
