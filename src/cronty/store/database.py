"""The connection pool, the statements by name, and the only clock: PostgreSQL's."""

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from functools import cache, wraps
from importlib.resources import files
from re import compile as pattern
from typing import Any, Final, Self, override

import asyncpg
import orjson

from cronty.store.connecting import Hosts, place_of
from cronty.store.faults import NoPartition as NoPartition
from cronty.store.faults import StoreBusy as StoreBusy
from cronty.store.faults import StoreMisnamed as StoreMisnamed
from cronty.store.faults import StoreUnavailable as StoreUnavailable
from cronty.store.faults import UniqueConflict as UniqueConflict
from cronty.store.faults import is_away, is_conflict, must_reconnect, store_fault
from cronty.store.pool import Pool
from cronty.store.poolers import Way, way_of, wrong_for_all, wrong_for_sessions, wrong_for_transactions
from cronty.store.replica import ANSWER_WITHIN, Replica
from cronty.telemetry import Outage

type Clock = Callable[[], datetime]
type Row = asyncpg.Record
type Connection = asyncpg.Connection

DOOR: Final = "cronty_app"
ENGINE: Final = "cronty_engine"
"""The roles that `walls.sql` creates: for the scheduler ("the door") and for the engine."""

_ACTING: Final = {DOOR: "cronty.as_app", ENGINE: "cronty.as_engine"}
"""The SQL types that switch a statement to these roles; their value is the owner's name."""

_SETTINGS: Final = "cronty.settings"
"""The SQL type that sets what is in its value, a JSON object, until the transaction ends."""

_STATES: Final = ("cronty.job_state", "cronty.run_state")
_TYPES: Final = (*_ACTING.values(), _SETTINGS, *_STATES, *(f"{one}[]" for one in _STATES))
"""All types that statements have parameters of, and PostgreSQL hasn't by itself."""

_NAMED: Final = pattern(r"(?<![:\w]):([a-z_]+)\b")
_START: Final = pattern(r"(?:\s*--[^\n]*\n)*\s*(with(?: recursive)?\b)?")

HOT_LIMIT: Final = 10.0
DOOR_LIMIT: Final = 30.0
"""Seconds that a statement may take; PostgreSQL enforces them."""

GRACE: Final = 2.0
"""Seconds after that until PostgreSQL is taken to be unreachable."""

IN_A_TRANSACTION: Final = {
    # A process that is frozen between two statements must not keep its locks.
    "idle_in_transaction_session_timeout": "10s",
}

TRANSACTION_LIMIT: Final = {
    # The idle timeout misses a process frozen between preparing and executing a statement. PostgreSQL 17 or newer.
    "transaction_timeout": "20s",
}

HOT_PATH: Final = {
    # Statements on the hot path find their rows by key. Plans made while a table is empty must do so too.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    # Starting other processes takes longer than that.
    "max_parallel_workers_per_gather": "0",
    # Locks are held for milliseconds. A longer one must not block work that doesn't need it.
    "lock_timeout": "2s",
    **IN_A_TRANSACTION,
}

AT_THE_DOOR: Final = {
    # An owner's rows are found by key. Plans made while a week of runs is empty must do so too.
    "enable_seqscan": "off",
    # Locks on a job are held for milliseconds, and a caller is waiting.
    "lock_timeout": "5s",
    **IN_A_TRANSACTION,
}

_TRIES: Final = 5


@cache
def query(name: str) -> str:
    """The statement in `queries/{name}.sql`, with named parameters (`:zone`) replaced by numbers (`$3`)."""
    text, names = _source(name), parameters(name)
    return _NAMED.sub(lambda found: f"${names.index(found[1]) + 1}", text) if names else text


@cache
def parameters(name: str) -> tuple[str, ...]:
    """The names of a statement's parameters, in order."""
    return tuple(dict.fromkeys(_NAMED.findall(_source(name))))


@cache
def _source(name: str) -> str:
    return (files("cronty.store") / "queries" / f"{name}.sql").read_text(encoding="utf-8")


def values(name: str, given: Mapping[str, object]) -> list[object]:
    """The values for a statement's named parameters, in order; each must be given, and no other."""
    names = parameters(name)
    if len(names) != len(given):
        raise TypeError(f"{name} takes {', '.join(names)}, not {', '.join(given)}")
    return [given[one] for one in names]


@cache
def writes(name: str) -> bool:
    """Whether the statement changes an owner's data."""
    calls = r"\b(insert into|update|delete from) cronty\.|\bcronty\.(add_job|seal_audit|take_numbers|erase_audit)\("
    return re.search(calls, query(name)) is not None


def behind_the_wall(statement: str, role: str, place: int) -> str:
    """The statement, made to run as a role for the owner in parameter `place`; `as_app` in the schema explains it."""
    return _prepended(statement, place, _ACTING[role])


@cache
def _prepended(statement: str, place: int, *types: str) -> str:
    """The statement with parameters more, from `place` on; reading them does what these types are for."""
    start = _START.match(statement)
    assert start is not None
    asked = ", ".join(f"${place + more}::{one}" for more, one in enumerate(types))
    return f"{start[1] or 'with'} acting as (select {asked}){',' if start[1] else ''} {statement[start.end() :]}"


class Bound:
    """Runs statements as one role and for one owner.

    A single statement sets both with a parameter, a transaction with its first message. Nothing stays set in the
    session, which a pooler may give to another process; through one, settings are given in the same way.
    """

    def __init__(self, database: "Database", role: str | None, owner: str | None = None, *, look: bool = False) -> None:
        self._database = database
        self._role = role
        self._owner = owner
        self._look = look

    def for_display(self) -> "Bound":
        """The same for data shown to people, which may come from the replica if it is recent enough."""
        return Bound(self._database, self._role, self._owner, look=True)

    async def fetch(self, name: str, /, *arguments: object, **named: object) -> list[Row]:
        text, given = self._statement(name, arguments, named)
        return await self._make(name, lambda connection: connection.fetch(text, *given))

    async def one(self, name: str, /, *arguments: object, **named: object) -> Row | None:
        text, given = self._statement(name, arguments, named)
        return await self._make(name, lambda connection: connection.fetchrow(text, *given))

    async def value(self, name: str, /, *arguments: object) -> Any:
        text, given = self._statement(name, arguments, {})
        return await self._make(name, lambda connection: connection.fetchval(text, *given))

    async def change(self, name: str, /, *arguments: object) -> int:
        """Run a statement that changes rows; how many it changed."""
        text, given = self._statement(name, arguments, {})
        return rows_changed(await self._make(name, lambda connection: connection.execute(text, *given)))

    def _statement(
        self, name: str, arguments: tuple[object, ...], named: Mapping[str, object]
    ) -> tuple[str, tuple[object, ...]]:
        """The text of a single statement, and its parameters."""
        if named:
            arguments = (*values(name, named),)
        acting = self._acting()
        if not acting:
            return query(name), arguments
        return _prepended(query(name), len(arguments) + 1, *acting), (*arguments, *acting.values())

    def _acting(self) -> dict[str, str | None]:
        """What a single statement sets: the types of its further parameters, and their values."""
        acting = {} if self._role is None or not self._database.walled else {_ACTING[self._role]: self._owner}
        return acting if self._database.direct is None else acting | {_SETTINGS: self._database.settings}

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        pool = self._database.pool
        try:
            with self._database.faults():
                async with pool.lend(self._share()) as connection, _within(connection, self._begin()):
                    yield connection
        except asyncpg.UniqueViolationError as error:
            raise UniqueConflict(str(error)) from error
        except asyncpg.CheckViolationError as error:
            if error.constraint_name is not None:
                raise
            raise NoPartition(str(error)) from error
        finally:
            self._note_write()
        self._database.outage.fine()

    def _begin(self) -> str:
        """How a transaction of several statements begins."""
        begin = self._database.begin
        if self._role is None or not self._database.walled:
            return begin
        begin = f"{begin}; set local role {self._role}"
        return begin if self._owner is None else f"{begin}; set local cronty.owner = {_literal(self._owner)}"

    async def together[T](self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Several statements in one transaction, repeated if it lost a deadlock or serialization conflict."""

        async def once() -> T:
            async with self.transaction() as connection:
                return await work(connection)

        return await repeated(once)

    async def _make[T](self, name: str, statement: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a statement on the replica or on the primary; `replica.py` decides."""
        replica = self._database.replica
        if replica is None:
            return await self._try(statement)
        if self._look and await replica.will_do(self._owner):
            try:
                async with asyncio.timeout(ANSWER_WITHIN):
                    return await Bound(replica.database, self._role, self._owner)._try(statement)
            except (StoreUnavailable, TimeoutError) as away:
                replica.leave_alone(away)
        try:
            return await self._try(statement)
        finally:
            if writes(name):
                self._note_write()

    def _note_write(self) -> None:
        if self._database.replica is not None and self._owner is not None:
            self._database.replica.wrote(self._owner)

    def _share(self) -> str | None:
        """Whose share of the pool is used. Scheduler statements without an owner have one share of their own."""
        return self._owner if self._owner is not None or self._database.hot else ""

    async def _try[T](self, statement: Callable[[Connection], Awaitable[T]]) -> T:
        async def once() -> T:
            pool = self._database.pool
            with self._database.faults():
                async with pool.lend(self._share()) as connection:
                    return await statement(connection)

        answer = await repeated(once)
        self._database.outage.fine()
        return answer


class Joined(Bound):
    """Runs statements in an open transaction, which the caller ends."""

    def __init__(self, database: "Database", transaction: Connection) -> None:
        super().__init__(database, None)
        self._transaction = transaction

    @override
    def _acting(self) -> dict[str, str | None]:
        return {}  # the caller's own statements follow

    async def together[T](self, work: Callable[[Connection], Awaitable[T]]) -> T:
        return await work(self._transaction)

    async def _make[T](self, name: str, statement: Callable[[Connection], Awaitable[T]]) -> T:
        return await statement(self._transaction)


class Database(Bound):
    """`clock` is for tests; None means the database's own clock.

    If row-level security is set up (`walls.sql`), statements run as the engine's role if `hot`, else as the
    scheduler's, for the owner given with `of`. With `operator` they run as the login user, without row-level security.
    Databases that share an `outage` log it once.

    With a `direct` URL, `url` is taken to name a pooler that keeps no sessions: settings go with each transaction, and
    what needs a session (LISTEN, a lock that outlives a transaction) uses `direct`.
    """

    def __init__(
        self, url: str, *, direct: str | None = None, clock: Clock | None = None, size: int = 8, hot: bool = False,
        operator: bool = False, outage: Outage | None = None,
    ) -> None:  # fmt: skip
        super().__init__(self, None if operator else ENGINE if hot else DOOR)
        self.url, self.direct = url, direct
        self.walled = self.almighty = False
        self.way = Way.DIRECT
        self.replica: Replica | None = None
        self.outage = outage or Outage()
        self._clock = clock
        self._size = size
        self.hot = hot
        self._limit = HOT_LIMIT if hot else DOOR_LIMIT
        self._name = {"application_name": "cronty engine" if hot else "cronty door"}
        self._settings = {
            **self._name,
            "jit": "off",  # compiling a statement takes longer than any of ours
            "statement_timeout": f"{self._limit:g}s",
            **(HOT_PATH if hot else AT_THE_DOOR),
        }
        self.begin, self.settings = "begin", "{}"
        self._way_known = False
        self._hosts: Hosts | None = None
        self._direct_hosts: Hosts | None = None
        self._pool: Pool | None = None
        self._listening: set[Connection] = set()

    async def open(self) -> Self:
        pool = self._pool = Pool(self._connect, self._size)
        try:
            with self.faults():
                async with pool.lend() as connection:
                    await self._check(connection)
                    await self._learn_types(connection)
        except BaseException:
            await self.close()
            raise
        return self

    async def _check(self, connection: Connection) -> None:
        """Raises StoreMisnamed if the login or what is between it and PostgreSQL won't do."""
        row = await connection.fetchrow(query("check_login"), self._role)
        assert row is not None
        if row["blind"] and self._role is not None:
            raise StoreMisnamed(
                f"The database keeps owners apart, and this login may not work as {self._role}. "
                f"Let it: grant {DOOR}, {ENGINE} to the user in CRONTY_DATABASE_URL."
            )
        self.walled = row["walled"]
        if self.direct is not None:
            self._take_settings_along(TRANSACTION_LIMIT if self.hot and _is_17(connection) else {})
        self.almighty = row["almighty"]
        if self._way_known:
            return
        if row["pid"] != connection.get_server_pid():
            await self._check_pooler(taken=row["statement_timeout"] == self._settings.get("statement_timeout"))
        if self.direct is not None and (self.hot or self._role is None):
            await self._check_direct(row)
        self._way_known = True

    def _take_settings_along(self, more: dict[str, str]) -> None:
        settings = {name: to for name, to in (self._settings | more).items() if name not in self._name}
        self.settings = orjson.dumps(settings).decode()
        # Not by reading a parameter: after that it would be too late to choose an isolation level.
        self.begin = "; ".join(["begin", *(f"set local {name} = '{to}'" for name, to in settings.items())])

    async def _check_pooler(self, *, taken: bool) -> None:
        way = self.way = await way_of(self._connect)
        wrong = wrong_for_all(way, parameters_taken=taken) if self.direct is None else wrong_for_transactions(way)
        if wrong:
            raise StoreMisnamed(wrong)

    async def check_direct(self) -> None:
        """Raises StoreMisnamed if the direct URL leads to another database."""
        if self.direct is not None:
            async with self.pool.lend() as connection:
                row = await connection.fetchrow(query("check_login"), self._role)
            assert row is not None
            await self._check_direct(row)

    async def _check_direct(self, row: Row) -> None:
        if wrong := wrong_for_sessions(await way_of(self._connect_directly)):
            raise StoreMisnamed(wrong)
        async with self.listening() as connection:
            other = await connection.fetchrow(query("check_login"), self._role)
        assert other is not None
        if (row["started_at"], row["database"]) != (other["started_at"], other["database"]):
            both = f"{place_of(self.direct or '')}, and {place_of(self.url)}"
            raise StoreMisnamed(
                f"CRONTY_DIRECT_URL and CRONTY_DATABASE_URL lead to different databases: {both}. Correct one, "
                "or leave CRONTY_DIRECT_URL out if there is no pooler."
            )

    async def _connect(self) -> Connection:
        settings = self._settings if self.direct is None else self._name
        connection = await self.hosts.connect(command_timeout=self._limit + GRACE, server_settings=settings)
        if self.direct is None and self.hot and _is_17(connection):
            try:
                for name, to in TRANSACTION_LIMIT.items():
                    await connection.execute(f"set {name} = '{to}'")
            except BaseException:
                connection.terminate()
                raise
        elif self._way_known:
            await self._learn_types(connection)
        return connection

    async def _learn_types(self, connection: Connection) -> None:
        """Through a pooler: have asyncpg look up our types now, without JIT, which would take it seconds."""
        if self.direct is None:
            return
        asked = ", ".join(f"${place}::{one}" for place, one in enumerate(_TYPES, start=1))
        try:
            async with connection.transaction():
                await connection.execute("set local jit = off")
                await connection.prepare(f"select {asked}")
        except (asyncpg.UndefinedObjectError, asyncpg.InvalidSchemaNameError):
            pass  # there is no schema yet
        except BaseException:
            connection.terminate()
            raise

    async def _connect_directly(self) -> Connection:
        if self._direct_hosts is None:
            self._direct_hosts = self.hosts if self.direct is None else Hosts(self.direct, "CRONTY_DIRECT_URL")
        settings = {"application_name": "cronty listen"}
        return await self._direct_hosts.connect(command_timeout=HOT_LIMIT, server_settings=settings)

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[Connection]:
        """A separate connection for what needs a session, such as LISTEN; it is dropped with the others."""
        with self.faults():
            connection = await self._connect_directly()
            self._listening.add(connection)
            try:
                yield connection
            finally:
                self._listening.discard(connection)
                connection.terminate()

    def alone(self, outage: Outage) -> "Database":
        """The same with one connection, not open yet, for another event loop."""
        made = Database(self.url, direct=self.direct, clock=self._clock, size=1, hot=self.hot, outage=outage)
        made._way_known = True
        return made

    def of(self, owner: str) -> Bound:
        """Statements for one owner; row-level security hides the rows of all others."""
        return Bound(self, self._role, owner)

    def for_the_engine(self, owner: str | None = None) -> Bound:
        """Statements as the engine, which sees all owners; `owner` if they are for one."""
        return Bound(self, ENGINE, owner)

    def for_the_operator(self) -> Bound:
        """Statements as the login user, for the operator of the installation; they see all owners."""
        return Bound(self, None)

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()

    @property
    def is_open(self) -> bool:
        return self._pool is not None

    @property
    def pool(self) -> Pool:
        if self._pool is None:
            raise StoreUnavailable("The store isn't open; use `async with cronty:` or call cronty.start() first.")
        return self._pool

    @property
    def hosts(self) -> Hosts:
        if self._hosts is None:
            self._hosts = Hosts(self.url, pooled=self.direct is not None)
        return self._hosts

    def moment(self) -> datetime | None:
        """The value for `now` in statements: a test's time, or None for the database's clock."""
        return self._clock() if self._clock else None

    @contextmanager
    def faults(self) -> Generator[None]:
        """Raise database errors as store faults; log outages, and drop connections that lead to the wrong server."""
        try:
            yield
        except (StoreBusy, StoreMisnamed):
            raise
        except StoreUnavailable as error:  # from connecting
            self.outage.fault(error)
            raise
        except Exception as error:
            fault = store_fault(error)
            if must_reconnect(error):
                self.start_over()
            if is_away(error):
                self.outage.fault(fault or error)
            if fault is None:
                raise
            raise fault from error

    def start_over(self) -> None:
        """Drop every connection: the server was lost, or is read-only now."""
        if self._pool is not None:
            self._pool.expire()
        while self._listening:
            self._listening.pop().terminate()


async def repeated[T](act: Callable[[], Awaitable[T]]) -> T:
    """Call `act`, and repeat it if PostgreSQL undid it because of a deadlock or serialization conflict."""
    for again in range(1, _TRIES):
        try:
            return await act()
        except StoreBusy as busy:
            if busy.__cause__ is None or not is_conflict(busy.__cause__):
                raise
            await asyncio.sleep(random.random() * 0.05 * again)
    return await act()


def retry_on_conflict[**P, T](act: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Makes a function repeat like that; it must be one transaction, without other side effects."""

    @wraps(act)
    async def acted(*args: P.args, **kwargs: P.kwargs) -> T:
        return await repeated(lambda: act(*args, **kwargs))

    return acted


@asynccontextmanager
async def _within(connection: Connection, begin: str) -> AsyncGenerator[None]:
    """A transaction. asyncpg's own would need a second round trip to set the role and the owner."""
    await connection.execute(begin)
    try:
        yield
    except TimeoutError:
        raise  # the connection is dropped
    except Exception:
        if not connection.is_closed():
            with suppress(Exception):  # report the first error, not this one
                await connection.execute("rollback")
        raise
    if await connection.execute("commit") != "COMMIT":
        raise RuntimeError("A statement of this transaction failed, and the error was ignored: nothing is saved.")


def _is_17(connection: Connection) -> bool:
    return connection.get_server_version().major >= 17


def _literal(text: str) -> str:
    """A SQL literal with every character as its code point, so that no character can end it."""
    return "U&'" + "".join(f"\\+{ord(one):06X}" for one in text) + "'"


def rows_changed(tag: str) -> int:
    """The count at the end of a command tag such as `UPDATE 5`."""
    last = tag.rsplit(" ", 1)[-1]
    return int(last) if last.isdigit() else 0


def columns(rows: Sequence[Iterable[object]], width: int) -> list[list[object]]:
    """Rows turned into one array per column, for `unnest`."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
