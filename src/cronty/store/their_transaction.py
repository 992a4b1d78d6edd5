"""A statement in a transaction that the caller has opened, on its own connection.

Drivers are told apart by the packages that their connections come from, so that Cronty needs none but asyncpg. A
statement takes texts and returns a text, because each driver writes other types in its own way.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import iscoroutinefunction
from re import compile as pattern
from typing import Any, Final, cast

import asyncpg
from asyncpg.pool import PoolConnectionProxy

ENQUEUE: Final = "cronty.enqueue(text, text)"
"""The only thing in the database that the caller's role must be allowed to use."""

BEGIN: Final = {
    "asyncpg": "Use `async with connection.transaction():`.",
    "psycopg": "Use `with connection.transaction():`.",
    "sqlalchemy": "Use `with engine.begin() as connection:`, without the isolation level AUTOCOMMIT.",
}
"""The packages whose connections can be used, and how a transaction begins with each."""

_DRIVERS: Final = ("asyncpg", "psycopg")
_PLACE: Final = pattern(r"\$\d")
_NO_RIGHT: Final = "42501"


class CannotJoin(Exception):
    """The caller's connection can't be used; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


NOT_KNOWN: Final = (
    "Give a connection of asyncpg or psycopg 3, or a connection or session of SQLAlchemy over one of them."
)


def elsewhere() -> CannotJoin:
    return CannotJoin(
        "The connection isn't on Cronty's database.",
        "A transaction can't span two databases: use a connection to the database in CRONTY_DATABASE_URL.",
    )


def no_transaction(connection: object) -> CannotJoin:
    return CannotJoin(
        "The connection has no open transaction: it commits each statement, so nothing could undo the enqueuing.",
        BEGIN[_package(connection) or ""],
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
        if _state(error) == _NO_RIGHT:
            raise CannotJoin(
                "The role of your connection may not enqueue.",
                f"Let it: grant usage on schema cronty to it, and execute on function {ENQUEUE}.",
            ) from error
        raise


def _way(connection: Any) -> Callable[..., Any]:
    is_async = iscoroutinefunction(getattr(connection, "commit", None))
    match _package(connection):
        case "asyncpg" if isinstance(connection, asyncpg.Connection | PoolConnectionProxy):
            return _by_asyncpg
        case "psycopg" if hasattr(connection, "row_factory"):
            return _by_async_psycopg if is_async else _in_thread(_by_psycopg)
        case "sqlalchemy" if hasattr(connection, "exec_driver_sql") or hasattr(connection, "get_bind"):
            return _by_async_sqlalchemy if is_async else _in_thread(_by_sqlalchemy)
        case _:
            raise _unusable(_name(type(cast("object", connection))))


def _package(connection: object) -> str | None:
    """The one that the connection's class comes from, or one of its bases."""
    packages = (kind.__module__.partition(".")[0] for kind in type(connection).__mro__)
    return next((one for one in packages if one in BEGIN), None)


def _name(kind: type[object]) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _unusable(what: str) -> CannotJoin:
    return CannotJoin(f"{what} is no connection to enqueue with.", NOT_KNOWN)


async def _by_asyncpg(connection: asyncpg.Connection, statement: str, given: tuple[str, ...]) -> object:
    return await connection.fetchval(statement, *given)


def _by_psycopg(connection: Any, statement: str, given: tuple[str, ...]) -> object:
    with connection.cursor(row_factory=_tuples) as cursor:
        return cursor.execute(_PLACE.sub("%s", statement), given).fetchone()[0]


async def _by_async_psycopg(connection: Any, statement: str, given: tuple[str, ...]) -> object:
    async with connection.cursor(row_factory=_tuples) as cursor:
        return (await (await cursor.execute(_PLACE.sub("%s", statement), given)).fetchone())[0]


def _by_sqlalchemy(connection: Any, statement: str, given: tuple[str, ...]) -> object:
    using = connection if hasattr(connection, "exec_driver_sql") else connection.connection()
    return using.exec_driver_sql(_marked(statement, using), given).scalar_one()


async def _by_async_sqlalchemy(connection: Any, statement: str, given: tuple[str, ...]) -> object:
    using = connection if hasattr(connection, "exec_driver_sql") else await connection.connection()
    return (await using.exec_driver_sql(_marked(statement, using), given)).scalar_one()


def _in_thread(act: Callable[..., object]) -> Callable[..., Any]:
    """The same without blocking the event loop: a plain driver waits for the answer.

    Each call has a thread of its own: in a pool, those that wait for a transaction could keep out the call that would
    end it.
    """

    async def acted(*given: object) -> object:
        own = ThreadPoolExecutor(1, "cronty-enqueue")
        try:
            return await asyncio.get_running_loop().run_in_executor(own, act, *given)
        finally:
            own.shutdown(wait=False)

    return acted


def _marked(statement: str, using: Any) -> str:
    """With the marks for parameters that the driver under SQLAlchemy takes."""
    if using.dialect.driver not in _DRIVERS:
        raise _unusable(f"SQLAlchemy over {using.dialect.driver}")
    return statement if using.dialect.paramstyle == "numeric_dollar" else _PLACE.sub("%s", statement)


def _tuples(_cursor: object) -> type[tuple[object, ...]]:
    """Rows as tuples, whatever the connection has for others."""
    return tuple


def _state(error: BaseException) -> str | None:
    """PostgreSQL's code of an error, as asyncpg and psycopg have it; SQLAlchemy wraps theirs."""
    return getattr(getattr(error, "orig", None) or error, "sqlstate", None)
