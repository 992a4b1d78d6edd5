"""Sessions with PostgreSQL that outlive the connections of a simulated life.

A new session plans every statement anew, which took more time than all the rest of a life. So a connection that ends is
rolled back and its session lent to the next that opens: to both it is the same, as nothing is ever left in a session.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import asyncpg


@dataclass(eq=False, slots=True)
class Session:
    """`busy` while a statement is under way, `doubtful` after one that was given up."""

    real: asyncpg.Connection
    settings: frozenset[tuple[str, str]]
    busy: bool = False
    doubtful: bool = False
    pid: int = field(init=False)

    def __post_init__(self) -> None:
        self.pid = self.real.get_server_pid()


class Sessions:
    """`end_session` ends a session of PostgreSQL that can't be rolled back, as it waits for a lock."""

    def __init__(self, url: str, end_session: Callable[[int], Awaitable[None]]) -> None:
        self._url, self._end_session = url, end_session
        self._spare: defaultdict[frozenset[tuple[str, str]], list[Session]] = defaultdict(list)
        self._left: list[Session] = []
        self._lock = asyncio.Lock()

    async def take(self, settings: Mapping[str, str]) -> Session:
        await self.settle()
        key = frozenset(settings.items())
        if spare := self._spare[key]:
            return spare.pop()
        return Session(await asyncpg.connect(self._url, server_settings=dict(settings)), key)

    def leave(self, session: Session) -> None:
        """Nobody uses it any more; `settle` does the rest."""
        self._left.append(session)

    async def settle(self) -> None:
        """Roll back what sessions have open that were left."""
        async with self._lock:
            while self._left:
                session = self._left.pop(0)
                if session.busy or session.doubtful or session.real.is_closed():
                    session.real.terminate()
                    await self._end_session(session.pid)
                    continue
                if session.real.is_in_transaction():
                    await session.real.execute("rollback")
                self._spare[session.settings].append(session)

    def close(self) -> None:
        for session in (*self._left, *(one for spare in self._spare.values() for one in spare)):
            session.real.terminate()
