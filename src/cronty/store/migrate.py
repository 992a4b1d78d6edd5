"""Brings a database to the schema this version needs: ordered SQL files, each applied once, one process at a time."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import Final

import asyncpg

from cronty.store.connecting import Hosts
from cronty.store.faults import explained
from cronty.store.server import be_server

OLDEST_POSTGRES: Final = 150000
_WALLED: Final = "select relrowsecurity from pg_class where oid = 'cronty.jobs'::regclass"
_LOCK: Final = 7_270_011_515  # any number; every Cronty process uses this one


class SchemaOutdated(Exception):
    """The database lacks migrations this version needs."""


def migration_names() -> list[str]:
    folder = files("cronty.store") / "migrations"
    return sorted(file.name.removesuffix(".sql") for file in folder.iterdir() if file.name.endswith(".sql"))


async def migrate(url: str, server: int | None = None) -> list[str]:
    """Apply what is missing and return its names; safe to call from any number of processes at once.

    `server` is the number of this database server, 0 to 1023: 0 if it is never given, and fixed by the first owner.
    """
    async with _connected(url) as connection:
        if connection.get_server_version().major * 10000 < OLDEST_POSTGRES:
            raise SchemaOutdated("Cronty needs PostgreSQL 15 or newer.")
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute("create schema if not exists cronty")
            await connection.execute(
                "create table if not exists cronty.migrations ("
                "name text primary key, applied_at timestamptz not null default now())"
            )
            missing = await _missing(connection)
            for name in missing:
                text = (files("cronty.store") / "migrations" / f"{name}.sql").read_text(encoding="utf-8")
                await connection.execute(text)
                await connection.execute("insert into cronty.migrations (name) values ($1)", name)
            if missing or not await connection.fetchval(_WALLED):
                await connection.execute((files("cronty.store") / "walls.sql").read_text(encoding="utf-8"))
            await be_server(connection, server)
            return missing


async def pending_migrations(url: str) -> list[str]:
    """What `migrate` would apply."""
    async with _connected(url) as connection:
        if await connection.fetchval("select to_regclass('cronty.migrations')") is None:
            return migration_names()
        return await _missing(connection)


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator[asyncpg.Connection]:
    with explained():
        connection = await Hosts(url).connect()
        try:
            yield connection
        finally:
            with suppress(Exception):
                await connection.close(timeout=2)


async def _missing(connection: asyncpg.Connection) -> list[str]:
    applied = {row["name"] for row in await connection.fetch("select name from cronty.migrations")}
    return [name for name in migration_names() if name not in applied]
