"""Databases with many jobs and runs, kept between runs of the bench: filled with COPY, copied for every measure."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

import asyncpg
import orjson
import psutil
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bench.recipe import (
    DUE_COLUMNS,
    HEADER,
    HUGE,
    JOB_COLUMNS,
    RECIPE,
    RUN_COLUMNS,
    START,
    TRAILER,
    WEEKS,
    ZONES,
    Recipe,
)
from chaos.postgres import Postgres
from cronty.store.database import Database
from cronty.store.engine_store import EngineStore
from cronty.store.migrate import migrate
from cronty.store.schema import wanted
from cronty.timing import tzdata_version, zone_rules

SERVER: Final = {"shared_buffers": "1GB", "max_wal_size": "4GB"}
"""What is measured with, everywhere in the bench."""

FILLING: Final = {
    # The cluster is stopped cleanly when it is filled; a fill that was cut off is done again.
    "shared_buffers": "1GB", "maintenance_work_mem": "1GB", "max_wal_size": "8GB", "fsync": "off",
    "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off", "wal_level": "minimal",
    "max_wal_senders": "0",
}  # fmt: skip
COPIED: Final = "bench_run"
_BYTES_PER_JOB: Final = 1200  # with its runs and all indexes
_ROWS_AT_ONCE: Final = 5_000
_WEEK: Final = timedelta(days=7)
_MINUTES: Final = 60.0


def usual_folder() -> Path:
    """Outside of the checkout; as root, where PostgreSQL's own user gets to."""
    if os.geteuid() == 0:
        return Path("/var/cache/cronty-bench")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cronty-bench"


def at(server: str, name: str) -> str:
    """The URL of another database of the server."""
    return server.replace("/postgres?", f"/{name}?")


def name_of(jobs: int) -> str:
    return f"jobs_{jobs}"


def digest(jobs: int) -> str:
    """Names what a database of this size is made of: another schema, recipe or zone database needs another fill."""
    schema = wanted()
    parts = [str(RECIPE), str(jobs), tzdata_version(), schema.walls, *(one.text for one in schema.migrations)]
    return sha256("\0".join(parts).encode()).hexdigest()[:16]


@contextmanager
def running(folder: Path, settings: dict[str, str]) -> Generator[Postgres]:
    if process := _used_by(folder):
        raise SystemExit(
            f"PostgreSQL already runs in {folder}: another bench is at work, or one was killed. "
            f"Wait for it, end it with `kill -INT {process}`, or give another folder with --keep."
        )
    postgres = Postgres(folder, **settings)
    postgres.start()
    try:
        yield postgres
    finally:
        postgres.close()


def _used_by(folder: Path) -> int | None:
    """The PostgreSQL that is at work there, if one is."""
    with suppress(OSError, ValueError, IndexError, psutil.NoSuchProcess):
        process = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        if psutil.Process(process).name().startswith("postgres"):
            return process
    return None


@asynccontextmanager
async def connected(url: str, **settings: str) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(url, server_settings=settings)
    try:
        yield connection
    finally:
        await connection.close()


async def filled(server: str) -> dict[int, str]:
    """Sizes that the cluster has, each with the digest of what it is made of."""
    async with connected(server) as admin:
        rows = await admin.fetch(
            "select datname, shobj_description(oid, 'pg_database') as digest from pg_database"
            r" where datname ~ '^jobs_\d+$'"
        )
    return {int(row["datname"].removeprefix("jobs_")): row["digest"] or "" for row in rows}


async def wanting(server: str, sizes: list[int]) -> list[int]:
    """Those that have to be filled."""
    there = await filled(server)
    return [size for size in sizes if there.get(size) != digest(size)]


def keep(folder: Path, sizes: list[int]) -> list[dict[str, object]]:
    """See to it that the cluster in `folder` has these sizes; what was filled, and how long each part took."""
    with running(folder, FILLING) as postgres:
        found = asyncio.run(fill_all(postgres.url, sizes))
    if found:
        os.sync()  # or the system writes it all while the first thing is measured
    return found


async def fill_all(server: str, sizes: list[int]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for size in await wanting(server, sizes):
        try:
            found.append(await make(server, size))
        except Exception as failed:  # the other sizes are worth having all the same
            found.append({"what": "fill", "jobs": size, "error": f"{type(failed).__name__}: {failed}"[:300]})
    return found


async def make(server: str, jobs: int) -> dict[str, object]:
    """A new database of this size; the comment that says that it is complete comes last."""
    name = name_of(jobs)
    async with connected(server) as admin:
        await admin.execute(f"drop database if exists {name} with (force)", timeout=600)
        _check_room(Path(await admin.fetchval("show data_directory")), jobs)
        await admin.execute(f"create database {name}")
        took = await fill(at(server, name), jobs)
        await admin.execute("checkpoint", timeout=1800)
        await admin.execute(f"comment on database {name} is '{digest(jobs)}'")
        size = await admin.fetchval("select pg_database_size($1)", name)
    return {"what": "fill", "jobs": jobs, "mb": size // 1_000_000, **took}


def _check_room(folder: Path, jobs: int) -> None:
    """For the database and the copy that is measured."""
    needed, free = 2 * jobs * _BYTES_PER_JOB / 1e9, shutil.disk_usage(folder).free / 1e9
    if free < needed:
        raise RuntimeError(f"{jobs:,} jobs need {needed:.0f} GB in {folder}, and {free:.0f} are free.")


async def copy(server: str, jobs: int) -> str:
    """A fresh copy of the database of this size, to be spoiled; there is one at a time."""
    async with connected(server) as admin:
        await admin.execute(f"drop database if exists {COPIED} with (force)", timeout=600)
        await admin.execute("set file_copy_method = clone")  # at once where the file system can
        await admin.execute(f"create database {COPIED} template {name_of(jobs)} strategy file_copy", timeout=1800)
        await admin.execute("checkpoint", timeout=1800)
    return at(server, COPIED)


async def drop_copy(server: str) -> None:
    async with connected(server) as admin:
        await admin.execute(f"drop database if exists {COPIED} with (force)", timeout=600)


# -- filling ----------------------------------------------------------------------------------------------------


async def fill(url: str, jobs: int) -> dict[str, object]:
    """Fill an empty database; seconds by part."""
    recipe = Recipe(jobs)
    await migrate(url)
    took: dict[str, object] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        filling = Filling(url, recipe, progress)
        for part in (filling.prepare, filling.jobs, filling.due, filling.runs, filling.rest, filling.index):
            began = time.perf_counter()
            await part()
            took[f"{part.__name__}_s"] = round(time.perf_counter() - began, 1)
    return took


class Filling:
    """The parts of one fill, in their order. Indexes that rows would enter out of order are built at the end."""

    def __init__(self, url: str, recipe: Recipe, progress: Progress) -> None:
        self._url = url
        self._recipe = recipe
        self._progress = progress
        self._rebuild: list[str] = []

    async def prepare(self) -> None:
        """The weeks of history and no others, and no index that gets in the way."""
        mondays = [START - timedelta(days=START.weekday()) + week * _WEEK for week in range(WEEKS + 1)]
        database = await Database(self._url, clock=lambda: mondays[-1], operator=True).open()
        await EngineStore(database).make_partitions(mondays)
        await database.close()
        async with connected(self._url) as sql:
            for row in await sql.fetch(_WEEKS_BEFORE, f"runs_{mondays[0]:%Y%m%d}"):
                await sql.execute(f"drop table cronty.{row[0]}")
            for row in await sql.fetch(_INDEXES):
                await sql.execute(row["drop"])
                self._rebuild.append(row["make"])

    async def jobs(self) -> None:
        await self._copy("jobs", JOB_COLUMNS, self._recipe.job_rows(), self._recipe.jobs)

    async def due(self) -> None:
        await self._copy("due", DUE_COLUMNS, self._recipe.due_rows(), self._recipe.jobs)

    async def runs(self) -> None:
        async with connected(self._url) as sql:
            weeks = [row[0] for row in await sql.fetch(_WEEKS_BEFORE, "runs_99991231")]
        bar = self._progress.add_task("runs", total=self._recipe.runs)
        for week in weeks:
            monday = datetime.strptime(f"{week[5:]}+0000", "%Y%m%d%z")
            await self._copy(week, RUN_COLUMNS, self._recipe.run_rows(monday, monday + _WEEK), bar=bar)
        self._progress.update(bar, completed=self._recipe.runs)

    async def rest(self) -> None:
        """Owners with their counts, the zones, and where the next ids begin."""
        recipe = self._recipe
        names, numbers = recipe.owner_names(), range(len(recipe.counts))
        ids = [recipe.owner_id(one) for one in numbers]
        free = orjson.dumps({"jobs": 0, "stored_bytes": 0}).decode()
        many = [free if name == HUGE else None for name in names]
        async with connected(self._url, session_replication_role="replica") as sql:
            await sql.execute(_OWNERS, ids, names, recipe.counts, many, START)
            await sql.execute(_ZONES, list(ZONES), [zone_rules(zone) for zone in ZONES], tzdata_version(), START)
            for table, last in (("owners", ids[-1]), ("jobs", recipe.id_of(recipe.jobs - 1))):
                await sql.fetchval("select setval(pg_get_serial_sequence($1, 'id'), $2)", f"cronty.{table}", last)

    async def index(self) -> None:
        bar = self._progress.add_task("indexes", total=len(self._rebuild) + 1)
        async with connected(self._url) as sql:
            for statement in self._rebuild:
                await sql.execute(statement, timeout=30 * _MINUTES)
                self._progress.advance(bar)
            await sql.execute("vacuum analyze", timeout=30 * _MINUTES)
            self._progress.advance(bar)

    async def _copy(
        self, table: str, columns: tuple[str, ...], rows: Iterator[bytes], many: int = 0, bar: object = None
    ) -> None:
        """Rows of a table that is truncated in the same transaction need no WAL and are born frozen."""
        task = self._progress.add_task(table, total=many) if bar is None else bar

        async def chunks() -> AsyncGenerator[bytes]:
            yield HEADER
            while chunk := list(islice(rows, _ROWS_AT_ONCE)):
                yield b"".join(chunk)
                self._progress.advance(task, len(chunk))  # pyright: ignore[reportArgumentType]
            yield TRAILER

        async with connected(self._url, session_replication_role="replica") as sql, sql.transaction():
            await sql.execute(f"truncate cronty.{table} cascade")
            await sql.copy_to_table(
                table, schema_name="cronty", columns=columns, source=chunks(), format="binary", freeze=True,
                timeout=60 * _MINUTES,
            )  # fmt: skip


_WEEKS_BEFORE: Final = r"""
select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'cronty.runs'::regclass and c.relname ~ '^runs_\d{8}$' and c.relname < $1
order by c.relname
"""
_OWNERS: Final = """
insert into cronty.owners (id, name, live_jobs, live_bytes, counted_at, next_number, limits, created_at)
select id, name, jobs, jobs * 250::bigint, $5::timestamptz + interval '1 minute', jobs + 1, limits::jsonb, $5
from unnest($1::bigint[], $2::text[], $3::int[], $4::text[]) u(id, name, jobs, limits)
"""
_ZONES: Final = """
insert into cronty.zones (name, rules, version, changed_at)
select name, rules, $3, $4 from unnest($1::text[], $2::text[]) u(name, rules)
"""
# The rows of jobs and due come in the order of their keys, those of runs don't.
_INDEXES: Final = """
select case when c.oid is null then format('drop index %s', i.indexrelid::regclass)
    else format('alter table %s drop constraint %I', i.indrelid::regclass, c.conname::text) end as drop,
  case when c.oid is null then replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
    else format('alter table %s add constraint %I %s', i.indrelid::regclass, c.conname::text,
      pg_get_constraintdef(c.oid)) end as make
from pg_index i
left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u') and c.conrelid = i.indrelid
where i.indrelid in ('cronty.jobs'::regclass, 'cronty.due'::regclass, 'cronty.runs'::regclass)
  and not (i.indisprimary and i.indrelid <> 'cronty.runs'::regclass)
order by i.indisprimary desc, i.indexrelid
"""
