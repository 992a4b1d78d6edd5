"""Builds an index while its table is being used, also where that takes several steps or was interrupted before."""

import re
from typing import Final, NamedTuple

import asyncpg

from cronty.store.database import query

_INDEX: Final = re.compile(
    r"create\s+(?P<unique>unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(?P<name>\w+)"
    r"\s+on\s+cronty\.(?P<table>\w+)\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_KIND: Final = "select relkind = 'p' from pg_class where oid = $1::text::regclass"
_INVALID: Final = (
    "select exists (select from pg_index x join pg_class c on c.oid = x.indexrelid"
    " where c.relnamespace = 'cronty'::regnamespace and c.relname = $1 and not x.indisvalid)"
)


class Index(NamedTuple):
    unique: str
    name: str
    table: str
    rest: str


def index_in(statement: str) -> Index | None:
    """The index that `create index concurrently if not exists <name> on cronty.<table> …` asks for."""
    found = _INDEX.fullmatch(statement)
    return Index(found["unique"] or "", found["name"], found["table"], found["rest"]) if found else None


async def build_index(connection: asyncpg.Connection, index: Index, patience: float) -> None:
    """PostgreSQL refuses to build an index of a partitioned table concurrently, but not those of its partitions."""
    if not await connection.fetchval(_KIND, f"cronty.{index.table}"):
        await _build(connection, index, patience)
        return
    await connection.execute(
        f"create {index.unique}index if not exists {index.name} on only cronty.{index.table} {index.rest}"
    )
    whole = f"cronty.{index.name}"
    for row in await connection.fetch(query("partitions_without_index"), f"cronty.{index.table}", whole):
        part = index._replace(name=f"{row['relname']}_{index.name}", table=row["relname"])
        await _build(connection, part, patience)
        await connection.execute(f"alter index {whole} attach partition cronty.{part.name}")


async def _build(connection: asyncpg.Connection, index: Index, patience: float) -> None:
    """A build waits for transactions that began before it, but nobody who reads or writes waits behind it."""
    briefly = await connection.fetchval("select current_setting('lock_timeout')")
    await connection.execute("select set_config('lock_timeout', $1, false)", f"{patience:.0f}s")
    try:
        if await connection.fetchval(_INVALID, index.name):  # a build was cut off; "if not exists" would leave it so
            await connection.execute(f"drop index concurrently if exists cronty.{index.name}")
        await connection.execute(
            f"create {index.unique}index concurrently if not exists {index.name} on cronty.{index.table} {index.rest}"
        )
    finally:
        if not connection.is_closed():
            await connection.execute("select set_config('lock_timeout', $1, false)", briefly)
