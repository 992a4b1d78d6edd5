"""A statement in a transaction that the caller has opened, on its own connection.

Drivers are told apart by what their connections can do, so that Cronty needs none but asyncpg. A statement takes
texts and returns a text, because each driver writes other types in its own way.
"""

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction
from re import compile as pattern
from typing import Any, Final, cast

import asyncpg
from asyncpg.pool import PoolConnectionProxy

ENQUEUE: Final = "cronty.enqueue(jsonb, text)"
"""The only thing in the database that the caller's role must be allowed to use."""

_PLACE: Final = pattern(r"\$\d")
_NO_RIGHT: Final = "42501"
_NOT_THERE: Final = ("3F000", "42883")
_IDLE: Final = 0


class CannotJoin(Exception):
    """The caller's connection can't be used; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


NOT_KNOWN: Final = "Give a connection of asyncpg or psycopg, or a connection or session of SQLAlchemy."


def elsewhere() -> CannotJoin:
    return CannotJoin(
        "The connection isn't on Cronty's database.",
        "A transaction can't span two databases: use a connection to the database in CRONTY_DATABASE_URL.",
    )


async def value_in(connection: object, statement: str, *given: str) -> str:
    """The value that a statement with the parameters `$1`, `$2` … returns, in the transaction that is open.

    `CannotJoin` if it can't be used; errors of the driver otherwise, which have ended the transaction.
    """
    run = _way(connection)
    try:
        return cast("str", await run(connection, statement, given))
    except CannotJoin:
        raise
    except Exception as error:
        state = _state(error)
        if state in _NOT_THERE:
            raise elsewhere() from error
        if state == _NO_RIGHT:
            raise CannotJoin(
                "The role of your connection may not enqueue.",
                f"Let it: grant usage on schema cronty to it, and execute on function {ENQUEUE}.",
            ) from error
        raise


def _way(connection: Any) -> Callable[..., Any]:
    if isinstance(connection, asyncpg.Connection | PoolConnectionProxy):
        return _by_asyncpg
    is_async = iscoroutinefunction(getattr(connection, "commit", None))
    if hasattr(connection, "exec_driver_sql") or hasattr(connection, "get_bind"):
        return _by_async_sqlalchemy if is_async else _in_thread(_by_sqlalchemy)
    if hasattr(connection, "cursor") and hasattr(connection, "commit"):
        return _by_async_cursor if is_async else _in_thread(_by_cursor)
    raise CannotJoin(f"A {type(connection).__qualname__} isn't a connection that can be used.", NOT_KNOWN)


async def _by_asyncpg(connection: asyncpg.Connection, statement: str, given: tuple[str, ...]) -> object:
    if not connection.is_in_transaction():
        raise _no_transaction("async with connection.transaction():")
    return await connection.fetchval(statement, *given)


def _by_sqlalchemy(connection: Any, statement: str, given: tuple[str, ...]) -> object:
    using = connection if hasattr(connection, "exec_driver_sql") else connection.connection()
    return using.exec_driver_sql(_marked(statement, using), given).scalar_one()


async def _by_async_sqlalchemy(connection: Any, statement: str, given: tuple[str, ...]) -> object:
    using = connection if hasattr(connection, "exec_driver_sql") else await connection.connection()
    return (await using.exec_driver_sql(_marked(statement, using), given)).scalar_one()


def _by_cursor(connection: Any, statement: str, given: tuple[str, ...]) -> object:
    with connection.cursor(**_cursor_options(connection)) as cursor:
        cursor.execute(_PLACE.sub("%s", statement), given)
        return cursor.fetchone()[0]


async def _by_async_cursor(connection: Any, statement: str, given: tuple[str, ...]) -> object:
    async with connection.cursor(**_cursor_options(connection)) as cursor:
        await cursor.execute(_PLACE.sub("%s", statement), given)
        return (await cursor.fetchone())[0]


def _in_thread(act: Callable[..., object]) -> Callable[..., Any]:
    """The same without blocking the event loop: a plain driver waits for the answer."""

    async def acted(*given: object) -> object:
        return await asyncio.to_thread(act, *given)

    return acted


def _marked(statement: str, using: Any) -> str:
    """With the marks for parameters that the driver under SQLAlchemy takes."""
    return statement if using.dialect.paramstyle == "numeric_dollar" else _PLACE.sub("%s", statement)


def _cursor_options(connection: Any) -> dict[str, object]:
    """Rows as tuples, whatever the connection has for others; only psycopg 3 has rows of several kinds."""
    if not hasattr(connection, "row_factory"):
        return {}
    if connection.autocommit and connection.info.transaction_status == _IDLE:
        raise _no_transaction("with connection.transaction():")
    return {"row_factory": _tuples}


def _tuples(_cursor: object) -> type[tuple[object, ...]]:
    return tuple


def _no_transaction(how: str) -> CannotJoin:
    return CannotJoin("The connection has no open transaction, so nothing could undo the enqueuing.", f"Use `{how}`.")


def _state(error: BaseException) -> str | None:
    """PostgreSQL's code of an error, as asyncpg, psycopg 2 or 3 have it; SQLAlchemy wraps theirs."""
    inner = getattr(error, "orig", None) or error
    return getattr(inner, "sqlstate", None) or getattr(inner, "pgcode", None)
