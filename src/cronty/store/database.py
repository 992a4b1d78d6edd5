"""One pool of connections, the statements by name, and the only clock there is: PostgreSQL's."""

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from functools import cache, wraps
from importlib.resources import files
from re import compile as pattern
from typing import Any, Final, Self

import asyncpg

from cronty.store.connecting import Hosts
from cronty.store.faults import NoPartition as NoPartition
from cronty.store.faults import SlotTaken as SlotTaken
from cronty.store.faults import StoreBusy as StoreBusy
from cronty.store.faults import StoreMisnamed as StoreMisnamed
from cronty.store.faults import StoreUnavailable as StoreUnavailable
from cronty.store.faults import is_away, is_conflict, is_elsewhere, told
from cronty.store.pool import Pool
from cronty.store.replica import ANSWER_WITHIN, Replica
from cronty.telemetry import Outage

type Clock = Callable[[], datetime]
type Row = asyncpg.Record
type Connection = asyncpg.Connection

DOOR: Final = "cronty_app"
ENGINE: Final = "cronty_engine"
"""The roles that `walls.sql` makes."""

_ACTING: Final = {DOOR: "cronty.as_app", ENGINE: "cronty.as_engine"}
"""The types whose values make a statement run as these roles, for the owner that the value names."""

_NAMED: Final = pattern(r"(?<![:\w]):([a-z_]+)\b")
_START: Final = pattern(r"(?:\s*--[^\n]*\n)*\s*(with(?: recursive)?\b)?")

HOT_LIMIT: Final = 10.0
DOOR_LIMIT: Final = 30.0
"""Seconds that a statement may take, by PostgreSQL's own watch."""

GRACE: Final = 2.0
"""Seconds after that in which PostgreSQL must have said so; else it doesn't answer at all."""

IN_A_TRANSACTION: Final = {
    # A process that is frozen between two statements must not hold its jobs for ever.
    "idle_in_transaction_session_timeout": "10s",
}

HOT_PATH: Final = {
    # Statements on the hot path touch their rows by key. Plans made while a table is still empty must say so too.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    # Locks are held for milliseconds; one that isn't must not hold up what doesn't need it.
    "lock_timeout": "2s",
    **IN_A_TRANSACTION,
}

AT_THE_DOOR: Final = {
    # An owner's rows are found by key. A plan made while a week of runs is still empty must say so too.
    "enable_seqscan": "off",
    # Others hold a job for milliseconds. Somebody waits for the answer, and holds an owner's trail meanwhile.
    "lock_timeout": "5s",
    **IN_A_TRANSACTION,
}

_TRIES: Final = 5


@cache
def query(name: str) -> str:
    """The statement in `queries/{name}.sql`; parameters that it names (`:zone`) are numbered (`$3`)."""
    text, names = _source(name), parameters(name)
    return _NAMED.sub(lambda found: f"${names.index(found[1]) + 1}", text) if names else text


@cache
def parameters(name: str) -> tuple[str, ...]:
    """The parameters that a statement names, in their order."""
    return tuple(dict.fromkeys(_NAMED.findall(_source(name))))


@cache
def _source(name: str) -> str:
    return (files("cronty.store") / "queries" / f"{name}.sql").read_text(encoding="utf-8")


def values(name: str, given: Mapping[str, object]) -> list[object]:
    """What is given for each parameter that a statement names; neither more nor less."""
    names = parameters(name)
    if len(names) != len(given):
        raise TypeError(f"{name} takes {', '.join(names)}, not {', '.join(given)}")
    return [given[one] for one in names]


@cache
def writes(name: str) -> bool:
    """Whether the statement changes anything of an owner."""
    calls = r"\b(insert into|update|delete from) cronty\.|\bcronty\.(seal_audit|take_numbers|erase_audit)\("
    return re.search(calls, query(name)) is not None


@cache
def behind_the_wall(statement: str, role: str, place: int) -> str:
    """The same statement, run as the role for the owner that its parameter `place` names (`0001_foundation.sql`)."""
    start = _START.match(statement)
    assert start is not None
    acting = f"{start[1] or 'with'} acting as (select ${place}::{_ACTING[role]})"
    return f"{acting}{',' if start[1] else ''} {statement[start.end() :]}"


class Bound:
    """Statements on somebody's behalf. A single one says in a parameter as which role and for which owner it runs, a
    transaction in its first message: nothing is left behind in a session, which may be another process's next (behind
    a pooler)."""

    def __init__(self, database: "Database", role: str | None, owner: str | None = None, *, look: bool = False) -> None:
        self._database = database
        self._role = role
        self._owner = owner
        self._look = look

    def looking(self) -> "Bound":
        """The same for what is shown to people: the replica may answer, if there is one that will do."""
        return Bound(self._database, self._role, self._owner, look=True)

    async def fetch(self, name: str, /, *arguments: object, **named: object) -> list[Row]:
        text, given = self._said(name, arguments, named)
        return await self._make(name, lambda connection: connection.fetch(text, *given))

    async def one(self, name: str, /, *arguments: object, **named: object) -> Row | None:
        text, given = self._said(name, arguments, named)
        return await self._make(name, lambda connection: connection.fetchrow(text, *given))

    async def value(self, name: str, /, *arguments: object) -> Any:
        text, given = self._said(name, arguments, {})
        return await self._make(name, lambda connection: connection.fetchval(text, *given))

    async def change(self, name: str, /, *arguments: object) -> int:
        """Run a statement that changes rows; how many it did."""
        text, given = self._said(name, arguments, {})
        return rows_changed(await self._make(name, lambda connection: connection.execute(text, *given)))

    def _said(
        self, name: str, arguments: tuple[object, ...], named: Mapping[str, object]
    ) -> tuple[str, tuple[object, ...]]:
        """A statement that is a transaction of its own, and its parameters."""
        if named:
            arguments = (*values(name, named),)
        if self._role is None or not self._database.walled:
            return query(name), arguments
        return behind_the_wall(query(name), self._role, len(arguments) + 1), (*arguments, self._owner)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        pool = self._database.pool
        try:
            with self._database.faults():
                async with pool.lend(self._share()) as connection, _within(connection, self._begin()):
                    yield connection
        except asyncpg.UniqueViolationError as error:
            raise SlotTaken(str(error)) from error
        except asyncpg.CheckViolationError as error:
            if error.constraint_name is not None:
                raise
            raise NoPartition(str(error)) from error
        finally:
            self._note_write()
        self._database.outage.fine()

    def _begin(self) -> str:
        """How a transaction of several statements begins."""
        if self._role is None or not self._database.walled:
            return "begin"
        begin = f"begin; set local role {self._role}"
        return begin if self._owner is None else f"{begin}; set local cronty.owner = {_literal(self._owner)}"

    async def together[T](self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Several statements in one transaction, all made again if they only lost a race for a lock."""

        async def once() -> T:
            async with self.transaction() as connection:
                return await work(connection)

        return await repeated(once)

    async def _make[T](self, name: str, statement: Callable[[Connection], Awaitable[T]]) -> T:
        """A statement at the replica or at the primary: what decides is in `replica.py`."""
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
        """Whose places of the pool it uses: at the door, what names no owner has one share of its own."""
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
    """Statements in a transaction that is open, and ends without them."""

    def __init__(self, database: "Database", transaction: Connection) -> None:
        super().__init__(database, None)
        self._transaction = transaction

    async def together[T](self, work: Callable[[Connection], Awaitable[T]]) -> T:
        return await work(self._transaction)

    async def _make[T](self, name: str, statement: Callable[[Connection], Awaitable[T]]) -> T:
        return await statement(self._transaction)


class Database(Bound):
    """`clock` is for tests, which hold time in their hand; None means the database's own.

    It works behind the wall between owners (`walls.sql`) if there is one: as the engine if it is `hot`, else as the
    door, which has to say on whose behalf with `of`. `operator` stays in front of it, as whoever logs in. Databases
    that share an `outage` tell of it once.
    """

    def __init__(
        self, url: str, *, clock: Clock | None = None, size: int = 8, hot: bool = False, operator: bool = False,
        outage: Outage | None = None,
    ) -> None:  # fmt: skip
        super().__init__(self, None if operator else ENGINE if hot else DOOR)
        self.url = url
        self.walled = False
        self.replica: Replica | None = None
        self.outage = outage or Outage()
        self._clock = clock
        self._size = size
        self.hot = hot
        self._limit = HOT_LIMIT if hot else DOOR_LIMIT
        self._settings = {
            "application_name": "cronty engine" if hot else "cronty door",
            "jit": "off",  # compiling a statement takes longer than any of ours
            "statement_timeout": f"{self._limit:g}s",
            **(HOT_PATH if hot else AT_THE_DOOR),
        }
        self._hosts: Hosts | None = None
        self._pool: Pool | None = None
        self._ears: set[Connection] = set()

    async def open(self) -> Self:
        pool = self._pool = Pool(self._connect, self._size)
        try:
            with self.faults():
                async with pool.lend() as connection:
                    await self._look_for_the_wall(connection)
        except BaseException:
            await self.close()
            raise
        return self

    async def _look_for_the_wall(self, connection: Connection) -> None:
        row = None if self._role is None else await connection.fetchrow(query("check_role"), self._role)
        if row is not None and row["blind"]:
            raise StoreMisnamed(
                f"The database keeps owners apart, and this login may not work as {self._role}. "
                f"Let it: grant {DOOR}, {ENGINE} to the user in CRONTY_DATABASE_URL."
            )
        self.walled = row is not None and row["walled"]

    async def _connect(self) -> Connection:
        connection = await self.hosts.connect(command_timeout=self._limit + GRACE, server_settings=self._settings)
        if self.hot and connection.get_server_version().major >= 17:
            try:  # Frozen between preparing a statement and executing it isn't idle; newer servers bound that too.
                await connection.execute("set transaction_timeout = '20s'")
            except BaseException:
                connection.terminate()
                raise
        return connection

    @asynccontextmanager
    async def ear(self) -> AsyncGenerator[Connection]:
        """A connection of its own that listens; it is dropped with the others."""
        with self.faults():
            settings = {"application_name": "cronty listen"}
            connection = await self.hosts.connect(command_timeout=HOT_LIMIT, server_settings=settings)
            self._ears.add(connection)
            try:
                yield connection
            finally:
                self._ears.discard(connection)
                connection.terminate()

    def of(self, owner: str) -> Bound:
        """Statements on behalf of one owner; behind the wall they meet nobody else's rows."""
        return Bound(self, self._role, owner)

    def for_the_engine(self, owner: str | None = None) -> Bound:
        """Statements on behalf of a run, whosever it is; `owner` if it is done for one."""
        return Bound(self, ENGINE, owner)

    def for_the_operator(self) -> Bound:
        """Statements on behalf of whoever runs the installation, over all owners."""
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
            self._hosts = Hosts(self.url)
        return self._hosts

    def moment(self) -> datetime | None:
        """What statements take as `now`: a test's moment, or None for the database's clock."""
        return self._clock() if self._clock else None

    @contextmanager
    def faults(self) -> Generator[None]:
        """What a fault means, and what it means for the other connections."""
        try:
            yield
        except (StoreBusy, StoreMisnamed):
            raise
        except StoreUnavailable as error:  # from connecting
            self.outage.fault(error)
            raise
        except Exception as error:
            said = told(error)
            if is_elsewhere(error):
                self.start_over()
            if is_away(error):
                self.outage.fault(said or error)
            if said is None:
                raise
            raise said from error

    def start_over(self) -> None:
        """Drop every connection: they lead where the one led that was lost, or is read-only now."""
        if self._pool is not None:
            self._pool.expire()
        while self._ears:
            self._ears.pop().terminate()


async def repeated[T](act: Callable[[], Awaitable[T]]) -> T:
    """An act made again if it only lost a race for a lock, which undoes all of it."""
    for again in range(1, _TRIES):
        try:
            return await act()
        except StoreBusy as busy:
            if busy.__cause__ is None or not is_conflict(busy.__cause__):
                raise
            await asyncio.sleep(random.random() * 0.05 * again)
    return await act()


def repeatable[**P, T](act: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Marks an act that is one transaction, and nothing else that can't be done twice."""

    @wraps(act)
    async def acted(*args: P.args, **kwargs: P.kwargs) -> T:
        return await repeated(lambda: act(*args, **kwargs))

    return acted


@asynccontextmanager
async def _within(connection: Connection, begin: str) -> AsyncGenerator[None]:
    """By hand rather than by asyncpg's transaction: it begins and says for whom in one round trip."""
    await connection.execute(begin)
    try:
        yield
    except TimeoutError:
        raise  # the connection is dropped
    except Exception:
        if not connection.is_closed():
            with suppress(Exception):  # the first fault is the one to tell
                await connection.execute("rollback")
        raise
    if await connection.execute("commit") != "COMMIT":
        raise RuntimeError("A statement of this transaction failed, and the failure was passed over: nothing is saved.")


def _literal(text: str) -> str:
    """Text as SQL has it, every character by its number: there is nothing in it that could end it."""
    return "U&'" + "".join(f"\\+{ord(one):06X}" for one in text) + "'"


def rows_changed(tag: str) -> int:
    """The count at the end of a command tag such as `UPDATE 5`."""
    last = tag.rsplit(" ", 1)[-1]
    return int(last) if last.isdigit() else 0


def columns(rows: Sequence[Iterable[object]], width: int) -> list[list[object]]:
    """Rows turned into one array per column, as `unnest` takes them."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
