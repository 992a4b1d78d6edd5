"""One pool of connections, the statements by name, and the only clock there is: PostgreSQL's."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final, Self

import asyncpg
from asyncpg.pool import PoolConnectionProxy

type Clock = Callable[[], datetime]
type Row = asyncpg.Record
type Connection = PoolConnectionProxy[asyncpg.Record]

CONNECT_TIMEOUT: Final = 10.0
STATEMENT_TIMEOUT: Final = 60.0

HOT_PATH: Final = {
    # Statements on the hot path touch their rows by key. Plans made while a table is still empty must say so too.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
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
        return ""  # we keep no session state, so giving a connection back costs no round trip


async def _bound_transactions(connection: asyncpg.Connection) -> None:
    """Frozen between preparing a statement and executing it isn't idle; PostgreSQL 17 and newer bound that too."""
    if connection.get_server_version().major >= 17:
        await connection.execute("set transaction_timeout = '20s'")


class Database:
    """`clock` is for tests, which hold time in their hand; None means the database's own."""

    def __init__(self, url: str, *, clock: Clock | None = None, size: int = 8, hot: bool = False) -> None:
        self.url = url
        self._clock = clock
        self._size = size
        self._hot = hot
        self._settings = {"application_name": "cronty", **(HOT_PATH if hot else {})}
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> Self:
        try:
            self._pool = await asyncpg.create_pool(
                self.url,
                min_size=1,
                max_size=self._size,
                timeout=CONNECT_TIMEOUT,
                command_timeout=STATEMENT_TIMEOUT,
                connection_class=_Connection,
                server_settings=self._settings,
                max_inactive_connection_lifetime=0,
                init=_bound_transactions if self._hot else None,
            )
        except (*LOST, *MISTAKEN) as error:
            raise unavailable(error) from error
        return self

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
        try:
            async with self.pool.acquire() as connection, connection.transaction():
                yield connection
        except asyncpg.UniqueViolationError as error:
            raise SlotTaken(str(error)) from error
        except asyncpg.DataError:
            raise
        except LOST as error:
            raise unavailable(error) from error

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


def rows_changed(tag: str) -> int:
    """The count at the end of a command tag such as `UPDATE 5`."""
    last = tag.rsplit(" ", 1)[-1]
    return int(last) if last.isdigit() else 0


def columns(rows: Sequence[Sequence[object]], width: int) -> list[list[object]]:
    """Rows turned into one array per column, as `unnest` takes them."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
