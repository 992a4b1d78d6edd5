"""A connection that stops at every statement, and on which the statement may fail as the seed says."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg

from chaos.life.actors import ACTOR, Actor
from chaos.life.product import statement_name
from chaos.life.stage import PAUSE

SQLSTATES: Final = {"disk_full": "53100", "timeout": "57014", "deadlock": "40P01"}
"""Errors that are raised in the session itself, so that the server really aborts the transaction."""

_ENDS: Final = ("commit", "rollback")
_CONTROL: Final = ("begin", *_ENDS)


class FaultyConnection(asyncpg.Connection):
    """What pools are given instead of their own class: `cut` ends it before a statement, `lost` after it."""

    locks_out_all = False
    """Its transaction has locked a table against everyone, those who look as well: it goes on to its end at once."""

    cut: Callable[["FaultyConnection"], Awaitable[None]]
    """Set by the world: end this connection, and wait until the server has rolled back what it had open."""

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:
        if args:
            return await super().execute(query, *args, timeout=timeout)  # which comes by _execute
        return await self._pass(query, lambda: super(FaultyConnection, self).execute(query, timeout=timeout))

    async def _execute(self, query: str, args: Any, limit: int, timeout: float | None, **rest: Any) -> Any:
        real: Callable[..., Awaitable[Any]] = super()._execute  # pyright: ignore -- where all of asyncpg's calls meet
        return await self._pass(query, lambda: real(query, args, limit, timeout, **rest))  # pyright: ignore

    async def _pass[T](self, sql: str, run: Callable[[], Awaitable[T]]) -> T:
        actor = ACTOR.get()
        if actor is None:
            return await run()
        stage = actor.stage
        luck = stage.choices
        pause = PAUSE not in luck.cuts.kinds and not luck.chance(stage.season.onward, f"gate {actor.name}")
        pause = pause and not sql.startswith("begin") and not self.locks_out_all and luck.event(f"{PAUSE} {actor.name}")
        self.locks_out_all = statement_name(sql) == "drop_partition"
        await actor.reach(self, sql, pause)
        fault = None if actor.dead else stage.fault_for(actor.name)
        stage.statements += 1
        stage.say(f"{actor.name:12} {statement_name(sql)}{'' if fault is None else f' !! {fault}'}")
        if fault is None:
            return await run()
        stage.injected[fault] += 1
        actor.faulted = True
        return await self._fail(actor, fault, sql.lower(), run)

    async def _fail[T](self, actor: Actor, fault: str, sql: str, run: Callable[[], Awaitable[T]]) -> T:
        if fault == "read_only":
            return await (run() if sql.startswith(_CONTROL) else self._read_only(run))
        if fault in SQLSTATES:
            await self._raise(fault, ends=sql.startswith(_ENDS))
        if fault == "lost":
            await run()
        await self.cut(self)
        raise asyncpg.ConnectionDoesNotExistError(f"connection was closed in the middle of operation ({fault})")

    async def _read_only[T](self, run: Callable[[], Awaitable[T]]) -> T:
        """As on a primary that was demoted: reading works, writing doesn't."""
        if self.is_in_transaction():
            await super().execute("set transaction read only")
            return await run()
        await super().execute("set default_transaction_read_only = on")
        try:
            return await run()
        finally:
            if not self.is_closed():
                await super().execute("set default_transaction_read_only = off")

    async def _raise(self, fault: str, *, ends: bool) -> None:
        try:
            await super().execute(
                f"do $$ begin raise exception 'injected: {fault}' using errcode = '{SQLSTATES[fault]}'; end $$"
            )
        except asyncpg.PostgresError:
            if ends:  # a commit that fails leaves no transaction open
                await super().execute("rollback")
            raise
