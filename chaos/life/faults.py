"""A connection that stops at every statement, and on which the statement may fail as the seed says."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import asyncpg

from chaos.life.actors import ACTOR, Actor
from chaos.life.product import statement_name
from chaos.life.sessions import Session, Sessions
from chaos.life.stage import PAUSE

SQLSTATES: Final = {"disk_full": "53100", "timeout": "57014", "deadlock": "40P01"}
"""Errors that are raised in the session itself, so that the server really aborts the transaction."""

_ENDS: Final = ("commit", "rollback")
_CONTROL: Final = ("begin", *_ENDS)


class FaultyConnection:
    """What pools are given instead of asyncpg's: `cut` ends it before a statement, `lost` after it."""

    def __init__(self, sessions: Sessions, session: Session) -> None:
        self._sessions, self._session = sessions, session
        self._real = session.real
        self._open = True

    @classmethod
    async def open(cls, sessions: Sessions, settings: Mapping[str, str]) -> "FaultyConnection":
        return cls(sessions, await sessions.take(settings))

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:
        return await self._pass(query, lambda: self._real.execute(query, *args, timeout=timeout))

    async def fetch(self, query: str, *args: object, timeout: float | None = None) -> list[asyncpg.Record]:
        return await self._pass(query, lambda: self._real.fetch(query, *args, timeout=timeout))

    async def fetchrow(self, query: str, *args: object, timeout: float | None = None) -> asyncpg.Record | None:
        return await self._pass(query, lambda: self._real.fetchrow(query, *args, timeout=timeout))

    async def fetchval(self, query: str, *args: object, column: int = 0, timeout: float | None = None) -> Any:
        return await self._pass(query, lambda: self._real.fetchval(query, *args, column=column, timeout=timeout))

    def is_closed(self) -> bool:
        return not self._open or self._real.is_closed()

    def is_in_transaction(self) -> bool:
        return self._open and self._real.is_in_transaction()

    def get_server_pid(self) -> int:
        return self._session.pid

    def terminate(self) -> None:
        if self._open:
            self._open = False
            self._sessions.leave(self._session)

    async def close(self, *, timeout: float | None = None) -> None:
        self.terminate()

    async def cut(self) -> None:
        """End it, and wait until the server has rolled back what it had open."""
        self.terminate()
        await self._sessions.settle()

    async def _pass[T](self, sql: str, run: Callable[[], Awaitable[T]]) -> T:
        actor = ACTOR.get()
        if actor is None:
            return await self._run(run)
        stage = actor.stage
        luck = stage.choices
        pause = PAUSE not in luck.cuts.kinds and not luck.chance(stage.season.onward, f"gate {actor.name}")
        pause = pause and not sql.startswith("begin")
        pause = pause and luck.event(f"{PAUSE} {actor.name}")
        await actor.reach(self, sql, pause)
        fault = None if actor.dead else stage.fault_for(actor.name)
        stage.statements += 1
        stage.say(f"{actor.name:12} {statement_name(sql)}{'' if fault is None else f' !! {fault}'}")
        try:
            if fault is None:
                answer = await self._run(run)
                await actor.hear(self)
                return answer
            stage.injected[fault] += 1
            actor.faulted = True
            return await self._fail(actor, fault, sql.lower(), run)
        finally:
            if not self.is_in_transaction():
                stage.commits += 1

    async def _run[T](self, run: Callable[[], Awaitable[T]]) -> T:
        if self.is_closed():
            raise asyncpg.InterfaceError("connection is closed")
        self._session.busy = True
        try:
            return await run()
        except asyncio.CancelledError:
            self._session.doubtful = True
            raise
        except asyncpg.QueryCanceledError:
            actor = ACTOR.get()
            if actor is None or not actor.out_of_patience:
                raise
            actor.out_of_patience = False
            raise asyncpg.LockNotAvailableError("canceling statement due to lock timeout") from None
        finally:
            self._session.busy = False

    async def _fail[T](self, actor: Actor, fault: str, sql: str, run: Callable[[], Awaitable[T]]) -> T:
        if fault == "read_only":
            return await (self._run(run) if sql.startswith(_CONTROL) else self._read_only(run))
        if fault in SQLSTATES:
            await self._raise(fault, ends=sql.startswith(_ENDS))
        if fault == "lost":
            await self._run(run)
        await self.cut()
        raise asyncpg.ConnectionDoesNotExistError(f"connection was closed in the middle of operation ({fault})")

    async def _read_only[T](self, run: Callable[[], Awaitable[T]]) -> T:
        """As on a primary that was demoted: reading works, writing doesn't."""
        if self.is_in_transaction():
            await self._real.execute("set transaction read only")
            return await self._run(run)
        await self._real.execute("set default_transaction_read_only = on")
        try:
            return await self._run(run)
        finally:
            if not self.is_closed():
                await self._real.execute("set default_transaction_read_only = off")

    async def _raise(self, fault: str, *, ends: bool) -> None:
        try:
            await self._real.execute(
                f"do $$ begin raise exception 'injected: {fault}' using errcode = '{SQLSTATES[fault]}'; end $$"
            )
        except asyncpg.PostgresError:
            if ends:  # a commit that fails leaves no transaction open
                await self._real.execute("rollback")
            raise
