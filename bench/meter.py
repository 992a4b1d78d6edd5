"""Counts what a stretch of work costs: statements, pages of PostgreSQL's buffers, processor time on both sides."""

import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import patch

import asyncpg
import psutil
from asyncpg.prepared_stmt import PreparedStatement

_PAGES: Final = """
select coalesce(sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0)
  + coalesce(idx_blks_hit, 0) + coalesce(toast_blks_read, 0) + coalesce(toast_blks_hit, 0)
  + coalesce(tidx_blks_read, 0) + coalesce(tidx_blks_hit, 0)), 0)::bigint
from pg_statio_user_tables where schemaname = 'cronty'
"""
_FRAMES: Final = ("begin", "commit", "rollback")
_FLUSH: Final = "select pg_stat_force_next_flush()"
_SENDING: Final = {
    asyncpg.Connection: ("fetch", "fetchrow", "fetchval", "execute", "executemany"),
    PreparedStatement: ("fetch", "fetchrow", "fetchval", "executemany"),
}


@dataclass(slots=True)
class Cost:
    """`round_trips` are statements and what begins and ends their transactions; `pages` are touches of buffers by
    Cronty's tables and indexes; `longest_s` is what one statement took at most."""

    statements: int = 0
    round_trips: int = 0
    pages: int = 0
    longest_s: float = 0
    seconds: float = 0
    python_s: float = 0
    postgres_s: float = 0


class Meter:
    """Reads what this process's connections and the server have done."""

    def __init__(self, sql: asyncpg.Connection, postmaster: int) -> None:
        self._sql = sql
        self._postmaster = postmaster
        self._sent = self._framing = 0
        self._longest = 0.0
        self._own = asyncpg.Connection.fetchval
        self.exact = False
        """Servers keep what they touched to themselves for a second or more, unless they are asked to tell. It takes
        a moment after every transaction, so times and pages are measured apart."""

    @contextmanager
    def listening(self) -> Generator[None]:
        """Count statements."""

        def counting(original: Callable[..., Any]) -> Callable[..., Any]:
            async def call(this: Any, *rest: Any, **more: Any) -> Any:
                began = time.perf_counter()
                answer = await original(this, *rest, **more)
                self._longest = max(self._longest, time.perf_counter() - began)
                self._sent += 1
                if original.__qualname__.startswith("Connection."):
                    self._framing += rest[0].lower().startswith(_FRAMES)
                    if self.exact and not this.is_in_transaction():
                        await self._own(this, _FLUSH)  # whoever made the statement still holds the connection
                return answer

            return call

        whats = [(one, what) for one, names in _SENDING.items() for what in names]
        patches = [patch.object(one, what, counting(getattr(one, what))) for one, what in whats]
        for one in patches:
            one.start()
        try:
            yield
        finally:
            for one in patches:
                one.stop()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[Cost]:
        """What is done meanwhile; the figures are there at the end."""
        cost = Cost()
        pages = await self._pages()
        sent, framing, began = self._sent, self._framing, time.perf_counter()
        mine, theirs, self._longest = time.process_time(), server_cpu(self._postmaster), 0.0
        yield cost
        cost.seconds = time.perf_counter() - began
        cost.python_s, cost.postgres_s = time.process_time() - mine, server_cpu(self._postmaster) - theirs
        cost.longest_s = self._longest
        cost.round_trips = self._sent - sent
        cost.statements = cost.round_trips - (self._framing - framing)
        cost.pages = await self._pages() - pages

    async def _pages(self) -> int:
        return await self._own(self._sql, _PAGES)


def server_cpu(postmaster: int) -> float:
    """Seconds of processor time that a PostgreSQL has used."""
    server = psutil.Process(postmaster)
    own = server.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system  # those that ended are the parent's
    for child in server.children():
        with suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            total += times.user + times.system
    return total
