"""Recognizes a pooler between us and PostgreSQL, and says what is wrong with one that can't be used.

A pooler answers for PostgreSQL with a process number of its own, so a connection whose number isn't the one that serves
it leads through a pooler. Of two connections through a pooler that keeps sessions, each has its own process until it
ends; through one that doesn't, the same process serves both in turn, or several serve one.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Final

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from cronty.store.faults import is_unprepared

_PID: Final = "select pg_backend_pid()"
_LOOKS: Final = 3
_WITHIN: Final = 3.0
"""Seconds to wait for a second connection to be served: a pooler may have but one session, and keep it."""

_NAME: Final = "cronty_doctor"

OWN_ADDRESS: Final = "set CRONTY_DIRECT_URL to PostgreSQL's own address, past the pooler"


class Way(StrEnum):
    """What is between us and PostgreSQL; its value says so in a sentence about a URL."""

    DIRECT = "leads to PostgreSQL itself"
    SESSIONS = "leads to a pooler that keeps sessions"
    TRANSACTIONS = "leads to a pooler in transaction mode"
    UNPREPARED = "leads to a pooler that loses prepared statements"
    STATEMENTS = "leads to a pooler in statement mode"


type Connect = Callable[[], Awaitable[asyncpg.Connection]]


async def way_of(connect: Connect) -> Way:
    """What is between us and PostgreSQL on connections made so."""
    try:
        async with _connected(connect) as one:
            if await one.fetchval(_PID) == one.get_server_pid():
                return Way.DIRECT
            try:
                await one.execute("begin")
            except asyncpg.PostgresError:  # it has also closed the connection
                return Way.STATEMENTS
            await one.execute("commit")
            async with _connected(connect) as other:
                return await _compare(one, other)
    except asyncpg.PostgresError as error:
        if not is_unprepared(error):
            raise
        return Way.UNPREPARED


async def _compare(one: asyncpg.Connection, other: asyncpg.Connection) -> Way:
    served_by: set[int] = set()
    for _ in range(_LOOKS):
        served_by.add(await one.fetchval(_PID))
        try:
            async with asyncio.timeout(_WITHIN):
                shared = await other.fetchval(_PID) in served_by
        except TimeoutError:
            return Way.SESSIONS
        if shared or len(served_by) > 1:
            break
    else:
        return Way.SESSIONS
    return Way.TRANSACTIONS if await _keeps_prepared(one, other) else Way.UNPREPARED


async def _keeps_prepared(one: asyncpg.Connection, other: asyncpg.Connection) -> bool:
    """Whether each connection has its own statement of one name, whatever session serves it."""
    statements: list[PreparedStatement] = []
    for number, connection in enumerate((one, other)):
        statements.append(await connection.prepare(f"select {number}", name=_NAME))
        await statements[-1].fetchval()  # until it is executed, the session isn't given to others
    return all([await statements[number].fetchval() == number for number in (0, 1) * _LOOKS])


@asynccontextmanager
async def _connected(connect: Connect) -> AsyncGenerator[asyncpg.Connection]:
    connection = await connect()
    try:
        yield connection
    finally:
        connection.terminate()


def wrong_for_all(way: Way, *, parameters_taken: bool) -> str | None:
    """Why a URL can't be used for everything, sessions included; None if it can."""
    if way not in (Way.DIRECT, Way.SESSIONS):
        return f"CRONTY_DATABASE_URL {way}, and there is no other: {OWN_ADDRESS}."
    if not parameters_taken:
        return f"CRONTY_DATABASE_URL {way}, which drops the parameters that we connect with: {OWN_ADDRESS}."
    return None


def wrong_for_transactions(way: Way) -> str | None:
    """Why CRONTY_DATABASE_URL can't be used though there is a direct URL; None if it can."""
    if way is Way.STATEMENTS:
        return f"CRONTY_DATABASE_URL {way}, which allows no transactions: use transaction mode."
    if way is Way.UNPREPARED:
        return (
            f"CRONTY_DATABASE_URL {way}: PgBouncer must be 1.21 or newer, with max_prepared_statements above 0 "
            "(it is 200 from 1.24 on)."
        )
    return None


def wrong_for_sessions(way: Way) -> str | None:
    """Why CRONTY_DIRECT_URL can't be used; None if it can."""
    if way in (Way.DIRECT, Way.SESSIONS):
        return None
    return (
        f"CRONTY_DIRECT_URL {way}, where nothing is heard that PostgreSQL notifies: give it PostgreSQL's own address."
    )
