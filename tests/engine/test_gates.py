"""What a fire costs the database: figures that don't move with the machine, and must not grow."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.engine.engine import Engine, EngineOptions
from cronty.store.database import HOT_PATH, Database, query
from tests.conftest import START, HandClock
from tests.patience import PATIENCE
from tests.pooler import direct_only

JOBS = 20_000

FILL = """
insert into cronty.owners (id, name) values (1, 'ann');
insert into cronty.jobs (id, owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
select i, 1, i, 'job ' || i, 'noop',
  jsonb_build_object('args', '[]'::jsonb, 'kwargs', jsonb_build_object('text', repeat('x', 100))), '{}',
  '{"attempts": 3}', '{}', now(), now() from generate_series(1, %(jobs)s) i;
insert into cronty.due (job_id, owner_id, next_at, serial, period, expression, zone)
select i, 1, timestamptz '2027-03-01 07:30+00' + i * interval '10 milliseconds', true,
  case when i %% 3 = 0 then 86400000000 end,
  case when i %% 3 = 1 then '30 7 * * *' end, case when i %% 3 = 1 then 'UTC' end
from generate_series(1, %(jobs)s) i;
"""


WAITED = "select n_tup_ins from pg_stat_user_tables where schemaname = 'cronty' and relname = 'queue'"


def count_statements(monkeypatch: pytest.MonkeyPatch, ours: asyncpg.Connection) -> list[str]:
    """Every message that connections other than this test's send from now on; each is a round trip."""
    sent: list[str] = []
    for name in ("fetch", "fetchrow", "fetchval", "execute"):
        original: Any = getattr(asyncpg.Connection, name)

        async def counted(self: object, text: str, *rest: Any, _original: Any = original, **more: Any) -> Any:
            if self is not ours:
                sent.append(text)
            return await _original(self, text, *rest, **more)

        monkeypatch.setattr(asyncpg.Connection, name, counted)
    return sent


async def versions(sql: asyncpg.Connection) -> int:
    """Row versions written to the tables of the fire path."""
    await sql.execute("select pg_stat_force_next_flush()")
    await asyncio.sleep(1.2)  # the others report at most once a second
    return await sql.fetchval(
        "select sum(n_tup_ins + n_tup_upd)::bigint from pg_stat_user_tables"
        " where schemaname = 'cronty' and (relname ~ '^runs' or relname in ('due', 'jobs', 'queue', 'attempts'))"
    )


def noop(text: str) -> None: ...


async def drain(url: str, sql: asyncpg.Connection) -> None:
    """Run a worker until everything due is settled."""
    registry = Registry()
    registry.add(noop)
    database = await Database(url, clock=HandClock(START), hot=True).open()
    engine = Engine(database, registry, EngineOptions())
    await engine.start()
    async with asyncio.timeout(PATIENCE):
        done = 0
        while done < JOBS:
            await asyncio.sleep(0.1)
            done = await sql.fetchval("select count(*) from cronty.runs where state = 'done'")
    await engine.stop()
    await database.close()


@direct_only("settings that come along have their own cost")
async def test_a_fire_costs_no_more_than_it_did(
    url: str, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sql.execute(FILL % {"jobs": JOBS})
    await sql.fetch(query("make_partitions"), START, [])
    await sql.execute("vacuum analyze")
    await sql.execute("checkpoint")
    rows, wal = await versions(sql), await sql.fetchval("select pg_current_wal_insert_lsn()")
    waited = await sql.fetchval(WAITED)
    sent = count_statements(monkeypatch, sql)
    await drain(url, sql)
    written = await sql.fetchval("select pg_current_wal_insert_lsn() - $1::pg_lsn", wal)
    made = await versions(sql) - rows
    # When no worker has room a batch waits: a row in the queue and its release, the job's turn, the run's claim.
    waited = await sql.fetchval(WAITED) - waited
    figures = {
        "wal_bytes_per_fire": (float(written) - 1000 * waited) / JOBS,
        "row_versions_per_fire": (made - 4 * waited) / JOBS,
        "round_trips_per_1000_fires": len(sent) * 1000 / JOBS,
        "pages_of_an_idle_poll": await idle_pages(url),
    }
    print(figures)
    assert figures["wal_bytes_per_fire"] <= 1500
    assert figures["row_versions_per_fire"] <= 3.01
    assert figures["round_trips_per_1000_fires"] <= 35
    assert figures["pages_of_an_idle_poll"] <= 5


async def idle_pages(url: str) -> int:
    """Pages an engine's poll touches when it finds nothing, right after all that firing."""
    connection = await asyncpg.connect(url, server_settings=HOT_PATH)
    try:
        await connection.execute("set role cronty_engine")
        await connection.execute(f"prepare poll as {query('pick_due')}")
        low = START - timedelta(seconds=2)
        plan = await connection.fetch(
            f"explain (analyze, buffers, costs off) execute poll('{START}', '{low}', 500, '{{}}', '{{}}')"
        )
        text = [row[0] for row in plan]
        buffers = next(line for line in text if "Buffers:" in line)
        return sum(int(part.split("=")[1]) for part in buffers.split() if "=" in part)
    finally:
        await connection.close()
