"""Migrates a database to the schema this version needs, while other processes keep using it.

One process migrates at a time. A statement that needs a lock waits a second for it, because others queue behind it;
then it gives up and tries again later, for minutes if it must.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources.abc import Traversable
from time import monotonic
from typing import Final

import asyncpg

from cronty import telemetry
from cronty.store.connecting import Hosts
from cronty.store.database import query
from cronty.store.faults import StoreMisnamed, explained
from cronty.store.indexes import build_index, index_in
from cronty.store.schema import (
    HOME,
    Migration,
    SchemaOutdated,
    SchemaProblem,
    SchemaState,
    Wanted,
    compare,
    wanted,
    with_walls,
)
from cronty.store.server import be_server
from cronty.store.walls import ROLES, lacking, outsider, wall_lines

OLDEST_POSTGRES: Final = 150000

SAFE_POSTGRES: Final[Mapping[int, int]] = {15: 18, 16: 14, 17: 10, 18: 4}
"""By major version, the minor one of 2026-05-14: those before it lack fixes of holes that whoever may query can use."""
LOCK_TIMEOUT: Final = "1s"
PAUSE: Final = 2.0
"""Seconds between two tries, so that others can use the tables most of the time."""
PATIENCE: Final = 600.0
"""Seconds for which a migration is tried."""

_LOCK: Final = 7_270_011_515  # any number; every Cronty process uses this one
_BUSY: Final = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


class CannotMigrate(SchemaProblem):
    """A migration couldn't be applied. Trying again completes what is half done."""


async def migrate(
    url: str, home: Traversable = HOME, *, server: int | None = None, patience: float = PATIENCE
) -> list[str]:
    """Apply the missing migrations and return their names; any number of processes may call it at once.

    `server` is the number of this database server, 0 to 1023. The default is 0. It can't be changed once there is an
    owner.
    """
    async with _connected(url) as connection:
        if connection.get_server_version().major * 10000 < OLDEST_POSTGRES:
            raise SchemaOutdated("Cronty needs PostgreSQL 15 or newer.")
        async with _one_at_a_time(connection, patience):
            names = await _Migrating(connection, wanted(home), patience).apply_missing()
            await be_server(connection, server)
            return names


async def schema_state(url: str, home: Traversable = HOME) -> SchemaState:
    """Which migrations the database lacks or has beyond this version; changes nothing."""
    async with _connected(url) as connection:
        return await _state(connection, wanted(home))


class _Migrating:
    def __init__(self, connection: asyncpg.Connection, mine: Wanted, patience: float) -> None:
        self._connection = connection
        self._mine = mine
        self._patience = patience

    async def apply_missing(self) -> list[str]:
        await self._make_table()
        state = await _state(self._connection, self._mine)
        applied = [one for one in self._mine.migrations if one.name in state.missing]
        for migration in applied:
            await (self._apply_outside(migration) if migration.outside else self._apply(migration))
        names = [migration.name for migration in applied]
        if state.new_walls:
            await self._patiently("walls", self._build_walls)
            names += [] if (await _state(self._connection, self._mine)).walls_off else ["walls"]
        return names

    async def _make_table(self) -> None:
        if await self._connection.fetchval("select to_regclass('cronty.migrations')") is None:
            async with self._connection.transaction():
                await self._connection.execute("create schema if not exists cronty")
                await self._connection.execute(
                    "create table cronty.migrations (name text primary key, applied_at timestamptz not null "
                    "default now(), older_code_works boolean not null, walls text)"
                )

    async def _apply(self, migration: Migration) -> None:
        async def once() -> None:
            async with self._connection.transaction():
                await _check_alone(self._connection)
                await self._connection.execute(migration.text)
                await self._record(migration)

        await self._patiently(migration.name, once)

    async def _apply_outside(self, migration: Migration) -> None:
        for statement in migration.statements():
            await self._patiently(migration.name, partial(self._run_outside, statement))
        await self._record(migration)

    async def _run_outside(self, statement: str) -> None:
        await _check_alone(self._connection)
        if index := index_in(statement):
            await build_index(self._connection, index, self._patience)
        else:
            await self._connection.execute(statement)

    async def _build_walls(self) -> None:
        await _check_alone(self._connection)
        try:
            await self._connection.execute(self._mine.walls)
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.UndefinedFunctionError) as missing:
            raise CannotMigrate(
                f"This database was made before the first release, by an older checkout: {missing}. Take your jobs "
                "over: `cronty export` with that checkout, then `cronty import json` into a new database."
            ) from missing
        await self._connection.execute(
            "update cronty.migrations set walls = $2 where name = $1", self._mine.names[-1], self._mine.digest
        )

    async def _record(self, migration: Migration) -> None:
        await self._connection.execute(
            "insert into cronty.migrations (name, older_code_works) values ($1, $2)",
            migration.name,
            migration.older_code_works,
        )

    async def _patiently(self, name: str, act: Callable[[], Awaitable[None]]) -> None:
        """Try until the locks it needs are free."""
        ends = monotonic() + self._patience
        said = False
        while True:
            try:
                return await act()
            except _BUSY as busy:
                if monotonic() > ends:
                    raise CannotMigrate(
                        f"{name} can't be applied: something has held a table it needs for {self._patience:.0f} s, "
                        "such as a backup or a forgotten transaction. End it and run `cronty migrate` again."
                    ) from busy
                if not said:
                    telemetry.migration_waits(name, self._patience)
                said = True
            await asyncio.sleep(PAUSE * (0.5 + random.random()))


@asynccontextmanager
async def _one_at_a_time(connection: asyncpg.Connection, patience: float) -> AsyncGenerator[None]:
    """Polls for the lock instead of waiting for it in PostgreSQL: building an index concurrently waits for all earlier
    statements, and one that waits for the builder's own lock would never end."""
    await connection.execute(f"set lock_timeout = '{LOCK_TIMEOUT}'")
    ends = monotonic() + patience
    while not await connection.fetchval("select pg_try_advisory_lock($1)", _LOCK):
        if monotonic() > ends:
            raise CannotMigrate(f"Another process has been migrating this database for {patience:.0f} s.")
        await asyncio.sleep(0.1 + random.random() / 10)
    try:
        await _check_alone(connection)
        yield
    finally:
        with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await connection.execute("select pg_advisory_unlock($1)", _LOCK)


async def _check_alone(connection: asyncpg.Connection) -> None:
    if not await connection.fetchval(query("migrating_alone"), _LOCK):
        raise CannotMigrate(
            "The lock that lets one process migrate at a time was lost. Migrating needs a session of its own: let "
            "CRONTY_DIRECT_URL name PostgreSQL itself, not PgBouncer in transaction mode."
        )


async def _state(connection: asyncpg.Connection, mine: Wanted) -> SchemaState:
    walls = wall_lines(str(row[0]) for row in await connection.fetch(query("describe_walls")))
    outside = outsider(await connection.fetch(query("roles_not_held"), list(ROLES)))
    try:
        there = await connection.fetchval("select to_regclass('cronty.migrations')") is not None
        state = compare(mine, await connection.fetch(query("read_migrations")) if there else [])
    except asyncpg.InsufficientPrivilegeError as refused:
        if (gaps := lacking(mine.wall_lines, walls)) is not None:
            raise SchemaOutdated(f"Row-level security {gaps}.") from refused  # its grants are a part of it
        if outside is None:
            raise
        raise StoreMisnamed(outside) from refused
    return with_walls(state, mine, walls, outside)


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator[asyncpg.Connection]:
    with explained():
        connection = await Hosts(url).connect(server_settings={"application_name": "cronty migrate"})
        try:
            await connection.execute("set search_path = pg_catalog")  # policies are written with all names in full
            yield connection
        except asyncpg.InsufficientPrivilegeError as refused:
            raise StoreMisnamed(
                f"The database's user has too few rights: {refused}. Use the login that owns the tables: "
                "`cronty_owner` in docs/how-to/production.md, which has the SQL for roles too."
            ) from refused
        finally:
            with suppress(Exception):
                await connection.close(timeout=2)
