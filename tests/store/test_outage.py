"""Connecting to a database that moves, hangs, fills up or is read-only; and what is left behind in a session."""

import asyncio
import gc
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from cronty.contract.caller import Caller, local_caller
from cronty.contract.result import Ok
from cronty.scheduler import Scheduler
from cronty.store import connecting
from cronty.store import database as database_module
from cronty.store.connecting import Hosts, each_host, place_of
from cronty.store.database import Database, StoreBusy, StoreUnavailable, query
from cronty.store.faults import StoreMisnamed, is_away, is_unwritable, must_reconnect, store_fault
from cronty.store.job_store import JobStore, LockedJob
from cronty.telemetry import Outage
from tests.conftest import Hands, add, with_database
from tests.middleman import Middleman, nobody_there, through
from tests.pooler import direct_only

ROLE = "select current_user || ' for ' || coalesce(nullif(current_setting('cronty.owner', true), ''), 'nobody')"


# -- which fault means what -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "away", "elsewhere"),
    [
        (asyncpg.ReadOnlySQLTransactionError("25006"), True, True),
        (asyncpg.ConnectionDoesNotExistError("08003"), True, True),
        (asyncpg.AdminShutdownError("57P01"), True, True),
        (asyncpg.CannotConnectNowError("57P03"), True, True),
        (asyncpg.PostgresIOError("58030"), True, True),
        (asyncpg.TransactionTimeoutError("25P04"), True, True),
        (asyncpg.TargetServerAttributeNotMatched("no host"), True, True),
        (asyncpg.InternalClientError("cannot switch to state 11"), True, True),
        (asyncpg.InterfaceError("connection is closed"), True, True),
        (ConnectionResetError(), True, True),
        (TimeoutError(), True, True),
        (asyncpg.QueryCanceledError("57014"), True, False),
        (asyncpg.DiskFullError("53100"), True, False),
        (asyncpg.TooManyConnectionsError("53300"), True, False),
        (asyncpg.UniqueViolationError("23505"), False, False),
        (asyncpg.InvalidTextRepresentationError("22P02"), False, False),
        (asyncpg.ClientConfigurationError("bad URL"), False, False),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), False, False),
        (asyncpg.UndefinedTableError("42P01"), False, False),
        (ZeroDivisionError(), False, False),
    ],
)  # fmt: skip
def test_an_error_says_whether_the_database_is_away_and_whether_to_look_elsewhere(
    error: Exception, away: bool, elsewhere: bool
) -> None:
    assert (is_away(error), must_reconnect(error)) == (away, elsewhere)


async def test_a_full_lock_table_is_no_outage_and_names_the_setting_to_raise(sql: asyncpg.Connection) -> None:
    raised = "raise 'out of shared memory' using errcode = '53200', hint = '%s'"
    hint = 'You might need to increase "max_locks_per_transaction".'
    with pytest.raises(asyncpg.OutOfMemoryError) as full:
        await sql.execute(f"do $$ begin {raised % hint}; end $$")
    assert not is_away(full.value)
    fault = store_fault(full.value)
    assert isinstance(fault, StoreBusy)
    assert "Raise max_locks_per_transaction" in str(fault)
    with pytest.raises(asyncpg.OutOfMemoryError) as other:
        await sql.execute(f"do $$ begin {raised % 'none'}; end $$")
    assert is_away(other.value)


async def test_a_value_that_cannot_be_written_is_told_from_a_fault(sql: asyncpg.Connection) -> None:
    for arguments in (("\ud800",), ("a\0b",), (7,)):
        with pytest.raises(Exception) as raised:  # noqa: PT011 -- which one is what we ask
            await sql.fetchval("select $1::text", *arguments)
        assert is_unwritable(raised.value), arguments
        assert not is_away(raised.value)


# -- several servers in a URL ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "each"),
    [
        ("postgresql://u:p@one:1,two/db?x=1", ["postgresql://u:p@one:1/db?x=1", "postgresql://u:p@two/db?x=1"]),
        ("postgresql://one/db", ["postgresql://one/db"]),
        ("postgresql:///db?host=/run/pg", ["postgresql:///db?host=/run/pg"]),
        (
            "postgresql:///db?host=one,two&port=1,2",
            ["postgresql:///db?host=one&port=1", "postgresql:///db?host=two&port=2"],
        ),
        (
            "postgresql:///db?host=one,two&port=6",
            ["postgresql:///db?host=one&port=6", "postgresql:///db?host=two&port=6"],
        ),
    ],
)
def test_a_url_may_name_several_servers(url: str, each: list[str]) -> None:
    assert each_host(url) == each


@pytest.fixture
async def middleman(url: str) -> AsyncGenerator[Middleman]:
    made = Middleman(url)
    await made.start()
    yield made
    await made.stop()


async def test_a_server_that_does_not_answer_costs_its_share_of_the_time_and_is_tried_last_from_then_on(
    url: str, middleman: Middleman, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "EACH", 0.2)
    middleman.frozen = True
    hosts = Hosts(through(url, middleman.address, and_itself=True))
    for _ in range(3):
        connection = await hosts.connect()
        assert await connection.fetchval("select 1") == 1
        await connection.close()
    assert middleman.came == 1


async def test_the_fault_of_every_server_is_told(
    url: str, middleman: Middleman, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "EACH", 0.2)
    middleman.frozen = True
    gone = nobody_there()
    with pytest.raises(StoreUnavailable) as raised:
        await Database(through(url, middleman.address, gone)).open()
    assert f"{middleman.address}: no answer within 0.2 s" in str(raised.value)
    assert f"{gone}: " in str(raised.value)
    assert "Connect call failed" in str(raised.value)


async def make_read_only(sql: asyncpg.Connection, *, on: bool) -> None:
    name = await sql.fetchval("select current_database()")
    await sql.execute("set default_transaction_read_only = off")
    await sql.execute(f"alter database {name} {'set default_transaction_read_only = on' if on else 'reset all'}")


@pytest.fixture
async def read_only_for_new_sessions(sql: asyncpg.Connection) -> AsyncGenerator[None]:
    await make_read_only(sql, on=True)
    yield
    await make_read_only(sql, on=False)


@direct_only("it chooses the server")
@pytest.mark.usefixtures("read_only_for_new_sessions")
async def test_a_server_that_takes_no_writes_is_not_used_unless_the_url_says_so(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="the server is read-only"):
        await Database(url).open()
    joint = "&" if "?" in url else "?"
    database = await Database(f"{url}{joint}target_session_attrs=any").open()
    await database.close()


async def test_a_wrong_url_is_told_from_an_outage(url: str) -> None:
    with pytest.raises(StoreMisnamed, match="no_such_database"):
        await Database(with_database(url, "no_such_database")).open()
    with pytest.raises(StoreMisnamed, match="it names 3 hosts and 2 ports"):
        await Database("postgresql:///db?host=a,b,c&port=1,2").open()


# -- a pool that loses its server -----------------------------------------------------------------------------------


async def pids(database: Database, count: int) -> set[int]:
    """Have this many connections at once; the servers' processes behind them."""
    met: set[int] = set()
    together = asyncio.Barrier(count)

    async def one() -> None:
        async with database.pool.lend() as connection:
            met.add(connection.get_server_pid())
            await together.wait()

    await asyncio.gather(*(one() for _ in range(count)))
    return met


async def test_one_read_only_answer_drops_every_connection(database: Database) -> None:
    before = await pids(database, 3)
    async with database.pool.lend() as connection:
        await connection.execute("set default_transaction_read_only = on")
    with pytest.raises(StoreUnavailable, match="can't be written to"):
        await database.of("ann").change("ensure_owner", "ann")
    assert await database.of("ann").change("ensure_owner", "ann") == 1
    assert before.isdisjoint(await pids(database, 3))


async def test_a_cancelled_statement_drops_no_connection(database: Database, sql: asyncpg.Connection) -> None:
    before = await pids(database, 3)

    async def hang() -> None:
        async with database.transaction() as connection:
            await connection.execute("set local statement_timeout = 1")
            await connection.execute("select pg_sleep(20)")

    with pytest.raises(StoreUnavailable, match="statement timeout"):
        await hang()
    assert await pids(database, 3) == before


async def test_a_server_that_hangs_during_a_statement_does_not_hang_us(
    url: str, middleman: Middleman, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the statement nor asking to cancel it, which hangs as well; the next one goes to the other server."""
    for module, name, value in ((connecting, "EACH", 0.5), (database_module, "DOOR_LIMIT", 0.3)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(database_module, "GRACE", 0.2)
    database = await Database(through(url, middleman.address, and_itself=True)).open()
    try:
        assert await database.of("ann").change("ensure_owner", "ann") == 1
        assert middleman.came == 1
        middleman.frozen = True
        async with asyncio.timeout(20):
            with pytest.raises(StoreUnavailable):
                await database.of("ann").value("owner_id", "ann")
            assert await database.of("ann").value("owner_id", "ann") is not None
    finally:
        async with asyncio.timeout(20):
            await database.close()


async def test_a_caller_that_gives_up_in_the_middle_leaves_no_statement_to_the_next_one(url: str) -> None:
    database = await Database(url, size=1).open()
    try:
        async with database.pool.lend() as connection:
            pid = connection.get_server_pid()

        async def hang() -> None:
            async with database.transaction() as connection:
                await connection.execute("select pg_sleep(20)")

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hang(), 0.05)
        assert await pids(database, 1) != {pid}
    finally:
        await database.close()


async def test_a_transaction_with_a_failure_that_was_passed_over_is_not_called_saved(database: Database) -> None:
    async def pass_over() -> None:
        async with database.transaction() as connection:
            with suppress(asyncpg.DivisionByZeroError):
                await connection.execute("select 1 / 0")

    with pytest.raises(RuntimeError, match="nothing is saved"):
        await pass_over()


# -- what a session is left with ------------------------------------------------------------------------------------


async def test_no_role_and_no_owner_stays_in_a_session(url: str) -> None:
    """Behind a pooler the next transaction of the session is another process's."""
    for hot in (False, True):
        database = await Database(url, size=1, hot=hot).open()
        try:
            login = await fetched(database, ROLE)
            for behalf in (database, database.of("ann"), database.for_the_engine(), database.for_the_operator()):
                await behalf.value("owner_id", "ann")
                assert await fetched(database, ROLE) == login
                async with behalf.transaction() as connection:
                    await connection.execute("select 1")
                with pytest.raises(ZeroDivisionError):
                    async with behalf.transaction():
                        raise ZeroDivisionError
                assert await fetched(database, ROLE) == login
        finally:
            await database.close()


async def fetched(database: Database, statement: str) -> str:
    async with database.pool.lend() as connection:
        return await connection.fetchval(statement)


async def test_every_transaction_says_its_role_in_its_first_message(url: str) -> None:
    door, engine = await Database(url).open(), await Database(url, hot=True).open()
    try:
        said = {
            "engine": engine.transaction(),
            "nobody's door": door.transaction(),
            "ann's door": door.of("ann").transaction(),
            "a run's door": door.for_the_engine().transaction(),
        }
        for name, opening in said.items():
            async with opening as connection:
                said[name] = await connection.fetchval(ROLE)
        assert said == {
            "engine": "cronty_engine for nobody",
            "nobody's door": "cronty_app for nobody",
            "ann's door": "cronty_app for ann",
            "a run's door": "cronty_engine for nobody",
        }
    finally:
        await door.close()
        await engine.close()


@direct_only("no session has the limits, each transaction has them")
async def test_a_door_that_stalls_in_a_transaction_or_at_a_lock_is_cut_off(database: Database) -> None:
    async with database.pool.lend() as connection:
        settings = ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout")
        assert [await connection.fetchval(f"show {name}") for name in settings] == ["10s", "5s", "30s"]


# -- lost races -----------------------------------------------------------------------------------------------------


async def test_a_change_that_loses_a_deadlock_is_made_again(
    database: Database, door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    job = await add(door)
    losing = iter(["40P01", "40001", None, "40P01"])
    saved = JobStore(database)

    async def lose(connection: asyncpg.Connection) -> None:
        if state := next(losing, None):
            await connection.execute(f"do $$ begin raise exception 'made up' using errcode = '{state}'; end $$")

    class Losing(JobStore):
        @asynccontextmanager
        async def locked_job(
            self, caller: Caller, number: int, *, deleted: bool = False
        ) -> AsyncGenerator[LockedJob | None]:
            async with saved.locked_job(caller, number, deleted=deleted) as locked:
                assert locked is not None
                yield locked
                await lose(locked._connection)  # pyright: ignore[reportPrivateUsage]

    paused = await Scheduler(Losing(database)).pause(local_caller("ann"), job.number)
    assert isinstance(paused, Ok)
    assert paused.value.state == "paused"
    entries = await sql.fetchval("select count(*) from cronty.audit_unsealed where what = 'paused'")
    assert entries == 1, "what was undone left nothing"
    started = await Scheduler(Losing(database)).run_now(local_caller("ann"), job.number)
    assert isinstance(started, Ok)


async def test_a_lock_that_others_keep_is_told_as_busy(database: Database, sql: asyncpg.Connection) -> None:
    async def wait_for_it() -> None:
        async with database.transaction() as connection:
            await connection.execute("set local lock_timeout = 1")
            await connection.fetch(query("owner_id"), "ann")

    async with sql.transaction():
        await sql.execute("lock cronty.owners")
        with pytest.raises(StoreBusy, match="lock timeout"):
            await wait_for_it()


@direct_only("it keeps its own prepared statements until RECONNECT")
async def test_a_statement_prepared_before_a_migration_is_prepared_again(
    database: Database, sql: asyncpg.Connection
) -> None:
    await sql.execute("create table cronty.thing (value int)")
    await sql.execute("grant select on cronty.thing to cronty_app")
    try:
        for kind in ("int", "text"):
            await sql.execute(f"alter table cronty.thing alter value type {kind}")
            assert (
                await database._try(  # pyright: ignore[reportPrivateUsage]
                    lambda connection: connection.fetch("select * from cronty.thing")
                )
                == []
            )
    finally:
        await sql.execute("drop table cronty.thing")


# -- telling of it --------------------------------------------------------------------------------------------------


def test_an_outage_is_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    outage = Outage(lambda: now[0])
    with caplog.at_level(logging.INFO):
        outage.fine()
        for seconds in range(20):
            now[0] = 100.0 + seconds
            outage.fault(StoreUnavailable("PostgreSQL can't be written to: the disk is full"))
            outage.fine()  # reading goes on
        now[0] = 120.0
        outage.fine()
        assert len(caplog.records) == 1, "it may come again"
        now[0] = 130.0
        outage.fine()
        outage.fine()
    assert [record.getMessage() for record in caplog.records] == [
        "PostgreSQL can't be written to: the disk is full (trying again; this is logged once)",
        "PostgreSQL works again, after 19.0 s",
    ]


def test_a_connection_that_is_lost_while_the_server_works_has_no_length(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    outage = Outage(lambda: now[0])
    outage.fault(StoreUnavailable("PostgreSQL can't be reached"))
    outage.fine()
    now[0] = 110.0
    outage.fine()
    assert [record.getMessage() for record in caplog.records][1:] == ["PostgreSQL works again"]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://me:secret@db.example:5433/cronty", "cronty at db.example:5433"),
        ("postgresql://me:secret@one,two:5433/cronty?sslmode=require", "cronty at one,two:5433"),
        ("postgresql://me:secret@/my%20jobs?host=/run/postgresql", "my jobs at /run/postgresql"),
        ("postgresql://me:secret@db.example", "me at db.example"),
        ("postgresql:///cronty", "cronty at this machine"),
    ],
)
def test_a_database_is_named_without_its_login(url: str, place: str) -> None:
    assert place_of(url) == place


async def test_a_host_that_is_not_found_is_named() -> None:
    with pytest.raises(StoreUnavailable, match=r"can't be reached: the host db\.invalid:5433 isn't found \(.+\)\."):
        await Hosts("postgresql://me:secret@db.invalid:5433/cronty").connect()


async def test_a_lost_server_leaves_nothing_in_the_log_but_the_outage(
    url: str, middleman: Middleman, caplog: pytest.LogCaptureFixture
) -> None:
    outage = Outage()
    databases = [await Database(through(url, middleman.address), outage=outage).open() for _ in range(2)]
    with caplog.at_level(logging.DEBUG):
        for database in databases:
            await pids(database, 4)
        await middleman.stop()
        for database in databases * 2:
            with pytest.raises(StoreUnavailable):
                await database.value("now", None)
        for database in databases:
            await database.close()
        gc.collect()
    said = [record for record in caplog.records if record.levelno >= logging.INFO or record.name == "asyncio"]
    assert [record.levelname for record in said if "selector" not in record.getMessage()] == ["WARNING"]
