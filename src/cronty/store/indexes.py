"""Builds an index concurrently, also on a partitioned table, and after an interrupted build."""

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
    """PostgreSQL can't build an index concurrently on a partitioned table, so it is built on each partition."""
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
    """A concurrent build waits for earlier transactions, but blocks no reads or writes."""
    briefly = await connection.fetchval("select current_setting('lock_timeout')")
    await connection.execute("select set_config('lock_timeout', $1, false)", f"{patience:.0f}s")
    try:
        if await connection.fetchval(_INVALID, index.name):  # an interrupted build, which "if not exists" would keep
            await connection.execute(f"drop index concurrently if exists cronty.{index.name}")
        await connection.execute(
            f"create {index.unique}index concurrently if not exists {index.name} on cronty.{index.table} {index.rest}"
        )
    finally:
        if not connection.is_closed():
            await connection.execute("select set_config('lock_timeout', $1, false)", briefly)
