"""One pool of connections, the statements by name, and the only clock there is: PostgreSQL's."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final, Self

import asyncpg
from asyncpg.pool import PoolConnectionProxy

type Clock = Callable[[], datetime]
type Row = asyncpg.Record
type Connection = PoolConnectionProxy[asyncpg.Record]

DOOR: Final = "cronty_app"
ENGINE: Final = "cronty_engine"
"""The roles that `walls.sql` makes."""

CONNECT_TIMEOUT: Final = 10.0
STATEMENT_TIMEOUT: Final = 60.0

HOT_PATH: Final = {
    # Statements on the hot path touch their rows by key. Plans made while a table is still empty must say so too.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    # A process that is frozen between two statements must not hold its jobs for ever.
    "idle_in_transaction_session_timeout": "10s",
}

LOST: Final = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionTimeoutError,
    TimeoutError,
)
"""What a database that is away, restarting or full looks like from here."""

MISTAKEN: Final = (asyncpg.InvalidCatalogNameError, asyncpg.InvalidAuthorizationSpecificationError, ValueError)
"""What a wrong database URL looks like."""

_CONFLICT: Final = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)


class SlotTaken(Exception):
    """A slot that was to get a run row has one already."""


class StoreUnavailable(Exception):
    """The database can't be reached; nothing is known to be lost, and trying again is right."""


def unavailable(error: BaseException) -> StoreUnavailable:
    """The fault in a line, with what to look at."""
    said = str(error) or type(error).__name__
    if isinstance(error, MISTAKEN):
        return StoreUnavailable(f"PostgreSQL can't be used as CRONTY_DATABASE_URL says: {said}")
    return StoreUnavailable(f"PostgreSQL can't be reached: {said}. Is it running, and is CRONTY_DATABASE_URL right?")


@cache
def query(name: str) -> str:
    """The statement in `queries/{name}.sql`."""
    return (files("cronty.store") / "queries" / f"{name}.sql").read_text(encoding="utf-8")


class _Connection(asyncpg.Connection):
    def get_reset_query(self) -> str:
        return ""  # what a session is set to holds for its life, so giving a connection back costs no round trip


class Database:
    """`clock` is for tests, which hold time in their hand; None means the database's own.

    It works behind the wall between owners (`walls.sql`) if there is one: as the engine if it is `hot`, else as the
    door, which has to say on whose behalf with `of`. `operator` stays in front of it, as whoever logs in.
    `connection_class` is for tests too, which make statements fail.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        size: int = 8,
        hot: bool = False,
        operator: bool = False,
        connection_class: type[asyncpg.Connection] = _Connection,
    ) -> None:
        self.url = url
        self._connection_class = connection_class
        self.walled = False
        self._role = None if operator else ENGINE if hot else DOOR
        self._clock = clock
        self._size = size
        self._hot = hot
        # Compiling a statement takes longer than any of ours.
        self._settings = {"application_name": "cronty", "jit": "off", **(HOT_PATH if hot else {})}
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> Self:
        try:
            self._pool = await asyncpg.create_pool(
                self.url,
                min_size=1,
                max_size=self._size,
                timeout=CONNECT_TIMEOUT,
                command_timeout=STATEMENT_TIMEOUT,
                connection_class=self._connection_class,
                server_settings=self._settings,
                max_inactive_connection_lifetime=0,
                init=self._prepare,
            )
        except (*LOST, *MISTAKEN) as error:
            raise unavailable(error) from error
        return self

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        if self._hot and connection.get_server_version().major >= 17:
            # Frozen between preparing a statement and executing it isn't idle; newer servers bound that too.
            await connection.execute("set transaction_timeout = '20s'")
        if self._role is not None:
            row = await connection.fetchrow(query("take_role"), self._role)
            if row is not None and row["blind"]:
                raise StoreUnavailable(
                    f"The database keeps owners apart, and this login may not work as {self._role}. "
                    f"Let it: grant {DOOR}, {ENGINE} to the user in CRONTY_DATABASE_URL."
                )
            self.walled = row is not None and row["taken"]

    def of(self, owner: str) -> "Bound":
        """Statements on behalf of one owner; behind the wall they meet nobody else's rows."""
        return Bound(self, f"set local cronty.owner = {_literal(owner)}")

    def for_the_engine(self) -> "Bound":
        """Statements on behalf of a run, whosever it is."""
        return Bound(self, f"set local role {ENGINE}")

    def for_the_operator(self) -> "Bound":
        """Statements on behalf of whoever runs the installation, over all owners."""
        return Bound(self, "set local role none")

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            try:
                await asyncio.wait_for(pool.close(), 5)
            except TimeoutError:
                pool.terminate()

    @property
    def pool(self) -> asyncpg.Pool:
        if self._pool is None:
            raise StoreUnavailable("The store isn't open; use `async with cronty:` or call cronty.start() first.")
        return self._pool

    def moment(self) -> datetime | None:
        """What statements take as `now`: a test's moment, or None for the database's clock."""
        return self._clock() if self._clock else None

    async def fetch(self, name: str, *arguments: object) -> list[Row]:
        return await self._try(lambda: self.pool.fetch(query(name), *arguments))

    async def one(self, name: str, *arguments: object) -> Row | None:
        return await self._try(lambda: self.pool.fetchrow(query(name), *arguments))

    async def value(self, name: str, *arguments: object) -> Any:
        return await self._try(lambda: self.pool.fetchval(query(name), *arguments))

    async def change(self, name: str, *arguments: object) -> int:
        """Run a statement that changes rows; how many it did."""
        return rows_changed(await self._try(lambda: self.pool.execute(query(name), *arguments)))

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        with _faults():
            async with self.pool.acquire() as connection, connection.transaction():
                yield connection

    async def _try[T](self, statement: Callable[[], Awaitable[T]]) -> T:
        """One statement, made again if it only lost a race for a lock."""
        for again in range(5):
            try:
                return await statement()
            except _CONFLICT:
                if again == 4:
                    raise
                await asyncio.sleep(random.random() * 0.05 * (again + 1))
            except asyncpg.DataError:  # asyncpg calls it an InterfaceError, but trying again can't help
                raise
            except LOST as error:
                raise unavailable(error) from error
        raise AssertionError("unreachable")


class Bound:
    """Statements of a database, each in a transaction that says first on whose behalf it is made."""

    def __init__(self, database: Database, saying: str) -> None:
        self._database = database
        self._saying = saying

    async def fetch(self, name: str, *arguments: object) -> list[Row]:
        return await self._try(lambda connection: connection.fetch(query(name), *arguments))

    async def one(self, name: str, *arguments: object) -> Row | None:
        return await self._try(lambda connection: connection.fetchrow(query(name), *arguments))

    async def value(self, name: str, *arguments: object) -> Any:
        return await self._try(lambda connection: connection.fetchval(query(name), *arguments))

    async def change(self, name: str, *arguments: object) -> int:
        """Run a statement that changes rows; how many it did."""
        return rows_changed(await self._try(lambda connection: connection.execute(query(name), *arguments)))

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        with _faults():
            async with self._acquired() as connection:
                yield connection

    async def _try[T](self, statement: Callable[[Connection], Awaitable[T]]) -> T:
        async def once() -> T:
            alone = not self._database.walled
            async with self._database.pool.acquire() if alone else self._acquired() as connection:
                return await statement(connection)

        return await self._database._try(once)  # pyright: ignore[reportPrivateUsage] -- one class in two parts

    @asynccontextmanager
    async def _acquired(self) -> AsyncGenerator[Connection]:
        """By hand rather than by asyncpg's transaction: it begins and says for whom in one round trip."""
        async with self._database.pool.acquire() as connection:
            await connection.execute(f"begin; {self._saying}" if self._database.walled else "begin")
            try:
                yield connection
            except BaseException:
                if not connection.is_closed():
                    await connection.execute("rollback")
                raise
            await connection.execute("commit")


@contextmanager
def _faults() -> Generator[None]:
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise SlotTaken(str(error)) from error
    except asyncpg.DataError:
        raise
    except LOST as error:
        raise unavailable(error) from error


def _literal(text: str) -> str:
    """Text as SQL has it, every character by its number: there is nothing in it that could end it."""
    return "U&'" + "".join(f"\\+{ord(one):06X}" for one in text) + "'"


def rows_changed(tag: str) -> int:
    """The count at the end of a command tag such as `UPDATE 5`."""
    last = tag.rsplit(" ", 1)[-1]
    return int(last) if last.isdigit() else 0


def columns(rows: Sequence[Sequence[object]], width: int) -> list[list[object]]:
    """Rows turned into one array per column, as `unnest` takes them."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
