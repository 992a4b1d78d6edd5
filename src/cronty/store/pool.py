"""A connection pool. Connections are made when needed, and dropped when in doubt."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import asyncpg

from cronty.store.faults import StoreBusy, StoreUnavailable

PATIENCE: Final = 5.0

MAX_WAIT: Final = 30.0
"""Seconds that a caller waits for a connection: as long as a statement may take."""


@asynccontextmanager
async def _acquired(places: asyncio.Semaphore) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(MAX_WAIT):
            await places.acquire()
    except TimeoutError:
        raise StoreBusy("Every connection to the database is in use.") from None
    try:
        yield
    finally:
        places.release()


class _Share:
    """One owner's share of the pool; it exists while it is in use or waited for."""

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.users = 0


class Pool:
    """Nothing runs in the background, so an outage shows only in a statement.

    One owner uses at most half of the connections, so that its slow statements don't keep others waiting.
    """

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]], size: int) -> None:
        self._connect = connect
        self.size = size
        self._places = asyncio.Semaphore(size)
        self._places_of_one = max(1, size // 2)
        self._shares: dict[str, _Share] = {}
        self._idle: list[asyncpg.Connection] = []
        self._lent: set[asyncpg.Connection] = set()
        self._generation = 0
        self._closed = False
        self._returned = asyncio.Event()

    @asynccontextmanager
    async def lend(self, owner: str | None = None) -> AsyncGenerator[asyncpg.Connection]:
        async with self._turn(owner), _acquired(self._places):
            if self._closed:
                raise StoreUnavailable("The store was closed meanwhile.")
            generation = self._generation
            connection = self._take() or await self._connect()
            self._lent.add(connection)
            try:
                yield connection
            except BaseException as error:
                if isinstance(error, TimeoutError) or not isinstance(error, Exception):
                    # A statement may still be running. asyncpg would wait for the server to cancel it, and a server
                    # that hangs would hang us too. Its own timeout ends the statement.
                    connection.terminate()
                raise
            finally:
                self._lent.discard(connection)
                self._returned.set()
                stale = self._closed or generation != self._generation
                if stale or connection.is_closed() or connection.is_in_transaction():
                    connection.terminate()
                else:
                    self._idle.append(connection)

    @asynccontextmanager
    async def _turn(self, owner: str | None) -> AsyncGenerator[None]:
        if owner is None:
            yield
            return
        share = self._shares.setdefault(owner, _Share(self._places_of_one))
        share.users += 1
        try:
            async with _acquired(share.places):
                yield
        finally:
            share.users -= 1
            if not share.users:
                del self._shares[owner]

    @property
    def busy(self) -> int:
        return len(self._lent)

    @property
    def idle(self) -> int:
        return len(self._idle)

    def _take(self) -> asyncpg.Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            connection.terminate()
        return None

    def expire(self) -> None:
        """Drop every connection; lent ones are dropped when they are returned."""
        self._generation += 1
        while self._idle:
            self._idle.pop().terminate()

    async def close(self) -> None:
        """Wait a little for lent connections, and close all."""
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._lent:
                    self._returned.clear()
                    await self._returned.wait()
        for connection in list(self._lent):
            connection.terminate()
        while self._idle:
            with suppress(Exception):
                await self._idle.pop().close(timeout=1)
