"""The PostgreSQL of a simulated life: a fresh database for each, what changes in it, and its backups."""

import asyncio
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import asyncpg

from chaos.life.product import TABLES, migrate
from chaos.life.sessions import Sessions
from chaos.postgres import Postgres

type Fields = dict[str, Any]

SETTINGS: Final = {
    "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off", "jit": "off",
    "deadlock_timeout": "5ms", "timezone": "UTC", "max_connections": "100",
}  # fmt: skip

WATCH: Final = """
create schema life;
create sequence life.n;
create unlogged table life.changes (n bigint default nextval('life.n'), what text, old jsonb, new jsonb);
create function life.note() returns trigger language plpgsql security definer as $$ begin
  insert into life.changes (what, old, new) values (tg_argv[0],
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null; end $$;
create table life.epoch as select 1 as n;
create or replace function cronty.epoch() returns int language sql stable security definer
  as 'select n from life.epoch';
""" + "".join(
    f"create trigger life after insert or update or delete on cronty.{table}"
    f" for each row execute function life.note('{table}');\n"
    for table in TABLES
)

_TABLES: Final = """
select c.relname, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  and a.attgenerated = ''
where c.relnamespace = 'cronty'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
group by c.relname order by c.relname"""


class Change(NamedTuple):
    """A row before and after; None where there is none."""

    table: str
    old: Fields | None
    new: Fields | None


@dataclass(frozen=True, slots=True)
class Backup:
    """The schema that holds the copy of every table, and where the sequences stood."""

    schema: str
    sequences: list[tuple[str, int]]


class Server:
    """One cluster for many lives; each gets a copy of a migrated and watched database."""

    def __init__(self) -> None:
        self._postgres = Postgres(**SETTINGS)
        self._postgres.start()

    def url(self, database: str) -> str:
        return self._postgres.url.replace("/postgres?", f"/{database}?")

    async def prepare(self) -> None:
        await self._run("postgres", "create database template_of_life")
        await migrate(self.url("template_of_life"))
        await self._run("template_of_life", WATCH)

    async def fresh(self, schema: str = "") -> str:
        """A new database, with this added to it; the one before is gone."""
        await self._run(
            "postgres", "drop database if exists life with (force)", "create database life template template_of_life"
        )
        if schema:
            await self._run("life", schema)
        return self.url("life")

    async def _run(self, database: str, *statements: str) -> None:
        connection = await asyncpg.connect(self.url(database))
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    def close(self) -> None:
        self._postgres.close()


class Monitor:
    """Looks at a life's database from outside; no fault reaches it."""

    def __init__(
        self, url: str, connection: asyncpg.Connection, reader: asyncpg.Connection, holder: asyncpg.Connection
    ) -> None:
        self._connection = connection
        self._lock = asyncio.Lock()
        self.reader, self._holder = reader, holder
        self.sessions = Sessions(url, self._end_session)

    @classmethod
    async def open(cls, url: str) -> "Monitor":
        return cls(url, await asyncpg.connect(url), await asyncpg.connect(url), await asyncpg.connect(url))

    async def close(self) -> None:
        self.sessions.close()
        await self._connection.close()
        self.reader.terminate()
        self._holder.terminate()

    async def ask(self, sql: str, *arguments: object) -> list[asyncpg.Record]:
        async with self._lock:
            return await self._connection.fetch(sql, *arguments)

    async def changes(self) -> list[Change]:
        """Rows that were changed by what has been committed since the last call, in order."""
        rows = await self.ask("delete from life.changes returning n, what, old::text, new::text")
        rows.sort(key=lambda row: row["n"])
        return [Change(row["what"], _fields(row["old"]), _fields(row["new"])) for row in rows]

    async def waiting(self, pids: list[int]) -> dict[int, bool]:
        """Which of these sessions wait for a lock, and whether it would lock everybody out of a table."""
        await self.sessions.settle()
        rows = await self.ask(
            "select pid, locktype = 'relation' and mode = 'AccessExclusiveLock' as whole from pg_locks"
            " where not granted and pid = any($1)", pids
        )  # fmt: skip
        return {row["pid"]: row["whole"] for row in rows}

    async def holding_up(self, pid: int) -> set[int]:
        """Every session that this one waits for, through others too."""
        rows = await self.ask(
            "with recursive b(pid) as (select unnest(pg_blocking_pids($1)) union"
            " select unnest(pg_blocking_pids(b.pid)) from b) select pid from b", pid
        )  # fmt: skip
        return {row["pid"] for row in rows}

    async def _end_session(self, pid: int) -> None:
        await self.ask("select pg_terminate_backend($1)", pid)  # one that waits for a lock notices nothing else
        while await self.ask("select from pg_stat_activity where pid = $1", pid):
            await asyncio.sleep(0.0005)

    async def cancel(self, pid: int) -> None:
        """Cancel a statement that waits for a lock, and wait until it waits no more."""
        await self.ask("select pg_cancel_backend($1)", pid)
        while await self.waiting([pid]):
            await asyncio.sleep(0.0005)

    async def tidy(self) -> None:
        """What autovacuum would do, when nobody is looking."""
        await self.ask("vacuum")

    # -- the reader ---------------------------------------------------------------------------------------------

    async def hold_snapshot(self, hold: bool) -> None:
        """As a backup does: read everything in one transaction, and take long."""
        if hold and not self.reader.is_in_transaction():
            await self.reader.execute(
                "begin isolation level repeatable read;"
                " select count(*) from cronty.runs; select count(*) from cronty.due"
            )
        elif not hold and self.reader.is_in_transaction():
            await self.reader.execute("rollback")

    async def hold_run(self, job: int, slot: datetime) -> None:
        """As someone at a console does who forgets to commit."""
        await self.let_run_go()
        await self._holder.execute("begin")
        await self._holder.execute(
            "select from cronty.runs where job_id = $1 and scheduled_for = $2 for update skip locked", job, slot
        )

    async def let_run_go(self) -> None:
        if self._holder.is_in_transaction():
            await self._holder.execute("rollback")

    # -- backups ------------------------------------------------------------------------------------------------

    async def backup(self, number: int) -> Backup:
        schema = f"kept_{number}"
        tables = await self.ask(_TABLES)
        made = [
            f"create unlogged table {schema}.{name} as select {columns} from cronty.{name}" for name, columns in tables
        ]
        await self._all(f"create schema {schema}", *made)
        rows = await self.ask(
            "select sequencename, coalesce(last_value, 0) from pg_sequences where schemaname = 'cronty'"
        )
        return Backup(schema, [(row[0], row[1]) for row in rows])

    async def forget(self, backup: Backup) -> None:
        await self.ask(f"drop schema {backup.schema} cascade")

    async def restore(self, backup: Backup) -> None:
        """The tables are as they were; everybody has been thrown out."""
        await self.hold_snapshot(False)
        await self.let_run_go()
        await self.ask(  # they may have been dropped since
            "select cronty.make_run_partition(monday) from (select distinct date_trunc('week', scheduled_for, 'UTC')"
            f" as monday from {backup.schema}.runs) w"
        )
        await self.ask(f"select cronty.make_audit_partition(sealed_at) from {backup.schema}.audit")
        tables = await self.ask(_TABLES)
        names = ", ".join(f"cronty.{name}" for name, _ in tables)
        copies = [
            f"insert into cronty.{name} ({columns}) overriding system value"
            f" select {columns} from {backup.schema}.{name}"
            for name, columns in tables
        ]
        sequences = [
            f"select setval('cronty.{name}', {max(value, 1)}, {str(value > 0).lower()})"
            for name, value in backup.sequences
        ]
        await self._all(
            "set local session_replication_role = replica", f"truncate {names} cascade", *copies, *sequences,
            "delete from life.changes", "update life.epoch set n = n + 1",
        )  # fmt: skip

    async def _all(self, *statements: str) -> None:
        await self.ask(
            f"do $do$ begin {'; '.join(s.replace('select setval', 'perform setval') for s in statements)}; end $do$"
        )


def _fields(text: str | None) -> Fields | None:
    return None if text is None else json.loads(text)
