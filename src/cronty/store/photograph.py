"""Writes `schema.sql`, a readable listing of what the migrations create. Don't edit it; a test compares it."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from cronty.store.database import query
from cronty.store.local import start_local_server
from cronty.store.migrate import migrate

PHOTOGRAPH = Path(__file__).parent / "schema.sql"


async def describe(connection: asyncpg.Connection) -> str:
    """Types, tables with columns, constraints and indexes, views, functions, walls, grants: one per line, sorted."""
    names = ("describe_schema", "describe_walls")
    lines = [str(row[0]) for name in names for row in await connection.fetch(query(name))]
    return "\n".join(sorted(lines)) + "\n"


async def photograph(url: str) -> None:
    # Without the schema in the path, which it is for a role of its name: names are written in full.
    connection = await asyncpg.connect(url, server_settings={"search_path": "pg_catalog"})
    try:
        PHOTOGRAPH.write_text(await describe(connection), encoding="utf-8")
    finally:
        await connection.close()


async def main(folder: Path) -> None:
    url = start_local_server(folder)
    await migrate(url)
    await photograph(url)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
