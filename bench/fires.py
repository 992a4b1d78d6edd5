"""Fires per second with a million jobs stored, beside the same set statements run bare."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import cast

import asyncpg

from cronty.actions.tasks import Registry
from cronty.engine.engine import Engine, EngineOptions
from cronty.jobs.limits import DEFAULTS, Limits
from cronty.store.database import HOT_PATH, Database, query
from cronty.store.migrate import migrate

WITH_CALENDARS = "cronty with calendars"
BASE = datetime(2027, 3, 13, tzinfo=UTC)
NOW = BASE + timedelta(hours=20)
"""Jobs fire about once a day; held still here, four in five are due and none twice."""

FILL = """
insert into cronty.owners (id, name) select i, 'owner ' || i from generate_series(1, 5000) i;
insert into cronty.jobs (id, owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
select i, 1 + i % 5000, i, 'job number ' || i, $task$noop$task$,
  jsonb_build_object('args', '[]'::jsonb, 'kwargs', jsonb_build_object('to', 'user-' || i || '@example.org',
    'subject', 'reminder ' || i, 'text', repeat('water the plants ', 5), 'n', i)),
  '{"kind": "once", "at": "2027-03-13T00:00:00+00:00"}', '{"attempts": 3, "timeout": 30}', '{}', now(), now()
from generate_series(1, %(jobs)s) i order by random();
insert into cronty.due (job_id, owner_id, next_at, serial, period, expression, zone)
select i, 1 + i % 5000,
  case when r < 0.5 then first + case when first < timestamptz '2027-03-13 00:00+00' then '1 day' else '0' end::interval
    else timestamptz '2027-03-13 00:00+00' + (r2 * 86400000000)::bigint * interval '1 microsecond' end,
  true,
  case when r >= 0.5 and r < 0.8 then (72000 + h % 28800) * 1000000::bigint end,
  case when r < 0.5 then (h % 60) || ' ' || ((h / 60) % 24) || ' ' || (case h % 10 when 0 then '* * 1-5'
    when 1 then '* * 1-6' when 2 then '*/2 * *' when 3 then '* * 1,3,5,6' else '* * *' end) end,
  case when r < 0.5 then zone end
from (
  select *, (timestamp '2027-03-13 00:00' + (h % 1440) * interval '1 minute') at time zone zone as first
  from (
    select *, (array['Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Asia/Kolkata', 'Australia/Sydney',
      'America/Sao_Paulo', 'Europe/London', 'UTC'])[1 + h / 1440 % 8] as zone
    from (select i, random() r, random() r2, hashint8(i) & 1048575 h from generate_series(1, %(jobs)s) i) x
  ) y
) z order by random();
"""


CALENDARS = """
insert into cronty.calendars (owner_id, name, days, updated_at, digest)
select id, 'team', days, now(), md5(id || days::text) from cronty.owners, (
  select jsonb_build_object('on', '[]'::jsonb, 'off',
    jsonb_object_agg(date '2027-03-20' + 9 * i, 'holiday (day ' || i || ')'))
  from generate_series(1, 100) i) d(days);
create temp table changed as
  select job_id, split_part(expression, ' ', 2)::int * 60 + split_part(expression, ' ', 1)::int as minute, zone
  from cronty.due where expression is not null and job_id % 100 < 2 * %(percent)s;
update cronty.jobs j set trigger = jsonb_build_object('kind', 'calendar', 'zone', c.zone, 'rules', jsonb_build_array(
    jsonb_build_object('times', jsonb_build_array(to_char(make_time(c.minute / 60, c.minute % 60, 0), 'HH24:MI')))))
  || case when j.id % 2 = 0 then '{"calendars": ["team"]}' else '{}' end::jsonb
from changed c where c.job_id = j.id;
update cronty.due d set expression = 'calendar' from changed c where c.job_id = d.job_id;
"""
"""Makes a part of the crons calendars, half of which go by a list of a hundred days off of their owner's."""


async def fill(url: str, jobs: int) -> None:
    """A database with `jobs` jobs: half cron in eight zones, 30 % interval, 20 % once."""
    await migrate(url)
    connection = await asyncpg.connect(url)
    await connection.execute("select setseed(0.5)")
    await connection.execute(FILL.replace("%(jobs)s", str(jobs)), timeout=600)
    await connection.execute("vacuum analyze", timeout=600)
    await connection.close()


@dataclass(frozen=True, slots=True)
class Counted:
    """What the server did per fire; these don't move with the machine."""

    wal: int
    versions: int


async def count(connection: asyncpg.Connection) -> Counted:
    await connection.execute("select pg_stat_force_next_flush()")
    await asyncio.sleep(1.1)
    return Counted(
        await connection.fetchval("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
        await connection.fetchval(
            "select sum(n_tup_ins + n_tup_upd)::bigint from pg_stat_user_tables where schemaname = 'cronty'"
            " and relname <> 'workers' and relname <> 'tasks'"
        ),
    )


async def settled(connection: asyncpg.Connection) -> int:
    return await connection.fetchval("select count(*) from cronty.runs where state = 'done'")


def noop(**_arguments: object) -> None: ...


async def anoop(**_arguments: object) -> None: ...


async def cronty(
    url: str, seconds: float, *, use_async: bool = False, concurrency: int = 50, limits: Limits = DEFAULTS
) -> float:
    """Run a worker for a while; how long it took to fire and settle all it took on."""
    registry = Registry()
    registry.add(anoop if use_async else noop, "noop")
    database = await Database(url, clock=lambda: NOW, hot=True).open()
    engine = Engine(database, registry, EngineOptions(concurrency=concurrency, limits=limits))
    began = time.perf_counter()
    await engine.start()
    await asyncio.sleep(seconds)
    await engine.stop()
    took = time.perf_counter() - began
    await database.close()
    return took


async def bare(url: str, seconds: float) -> float:
    """The same statements on the same number of connections; the server computes the next slot, nobody plans."""
    pick = f"""
      select array_agg(job_id), array_agg(next_at), sum(length(arguments)), array_agg(
        case when expression is not null then next_at + interval '1 day'
          else next_at + period * interval '1 microsecond' end)
      from ({query("pick_due")}) l"""
    ended: asyncio.Queue[tuple[list[int], list[datetime]] | None] = asyncio.Queue(4)
    finish = time.monotonic() + seconds
    began = time.perf_counter()

    async def fire() -> None:
        connection = await asyncpg.connect(url, server_settings=HOT_PATH)
        low: datetime | None = None
        while time.monotonic() < finish:
            async with connection.transaction():
                row = await connection.fetchrow(pick, NOW, low, 500, [], [])
                if row is None or row[0] is None:
                    break
                ids, slots = cast("list[int]", row[0]), cast("list[datetime]", row[1])
                low = slots[-1]
                await connection.execute(query("fire"), ids, row[3], 1, NOW)
            await ended.put((ids, slots))
        await connection.close()

    async def settle() -> None:
        connection = await asyncpg.connect(url, server_settings=HOT_PATH)
        while (batch := await ended.get()) is not None:
            ids, slots = batch
            n = len(ids)
            await connection.execute(
                query("settle_done"), NOW, 1, ids, slots, [], [], [0.0] * n, [0.0] * n, min(slots), max(slots)
            )
        await connection.close()

    settling = asyncio.create_task(settle())
    await asyncio.gather(fire(), fire())
    await ended.put(None)
    await settling
    return time.perf_counter() - began


async def measure(template: str, server: str, how: Callable[[str], Awaitable[float]]) -> dict[str, float]:
    """One repetition on a fresh copy of the filled database, after a checkpoint."""
    admin = await asyncpg.connect(server)
    await admin.execute("drop database if exists bench_run")
    await admin.execute(f"create database bench_run template {template} strategy file_copy", timeout=300)
    url = server.replace("/postgres?", "/bench_run?")
    connection = await asyncpg.connect(url)
    await connection.execute("select cronty.make_run_partition(date_trunc('week', $1::timestamptz, 'UTC'))", NOW)
    await connection.execute(
        "select cronty.make_run_partition(date_trunc('week', $1::timestamptz, 'UTC') - interval '7 days')", NOW
    )
    await connection.execute(
        "insert into cronty.workers (id, name, version, tzdata, concurrency, started_at, beat_at, lease_until)"
        " values (1, 'bare', '0', '0', 1, now(), now(), 'infinity')"
    )
    await connection.execute("checkpoint", timeout=120)
    before = await count(connection)
    cpu = os.times()
    took = await how(url)
    spent = os.times()
    after = await count(connection)
    fires = await settled(connection)
    unsettled = await connection.fetchval("select count(*) from cronty.runs where state <> 'done'")
    counted = await connection.fetchval("select sum(run_count) from cronty.due")
    await connection.close()
    await admin.close()
    return {
        "fires_per_s": round(fires / took), "fires": fires, "unsettled": unsettled, "counted": int(counted),
        "wal_per_fire": round((after.wal - before.wal) / fires),
        "versions_per_fire": round((after.versions - before.versions) / fires, 2),
        "python_us": round((spent.user + spent.system - cpu.user - cpu.system) * 1e6 / fires, 1),
    }  # fmt: skip


async def prepare(server: str, jobs: int) -> None:
    """The filled database that every repetition copies."""
    admin = await asyncpg.connect(server)
    if not await admin.fetchval("select exists (select from pg_database where datname = 'bench_full')"):
        await admin.execute("create database bench_full")
        await fill(server.replace("/postgres?", "/bench_full?"), jobs)
    await admin.close()


async def prepare_calendars(server: str, percent: int) -> None:
    """The same, but so many percent of the jobs are calendars."""
    admin = await asyncpg.connect(server)
    await admin.execute("create database bench_calendars template bench_full strategy file_copy", timeout=300)
    await admin.close()
    connection = await asyncpg.connect(server.replace("/postgres?", "/bench_calendars?"))
    await connection.execute(CALENDARS.replace("%(percent)s", str(percent)), timeout=600)
    await connection.execute("vacuum full cronty.jobs", timeout=600)
    await connection.execute("vacuum full cronty.due", timeout=600)
    await connection.execute("vacuum analyze", timeout=600)
    await connection.close()


async def main(server: str, jobs: int, seconds: float, rounds: int, calendars: int = 0) -> dict[str, object]:
    await prepare(server, jobs)
    if calendars:
        await prepare_calendars(server, calendars)
    rows: dict[str, list[dict[str, float]]] = {"cronty": [], "cronty async": [], "bare": []}
    hows: dict[str, Callable[[str], Awaitable[float]]] = {
        "cronty": lambda url: cronty(url, seconds),
        "cronty async": lambda url: cronty(url, seconds, use_async=True),
        "bare": lambda url: bare(url, seconds),
    }
    if calendars:
        rows[WITH_CALENDARS], hows[WITH_CALENDARS] = [], hows["cronty"]
    for turn in range(rounds):
        for name in list(hows) if turn % 2 == 0 else list(reversed(hows)):
            row = await measure("bench_calendars" if name == WITH_CALENDARS else "bench_full", server, hows[name])
            rows[name].append(row)
            print(json.dumps({"turn": turn, "what": name, **row}), flush=True)
    rates = {name: median(row["fires_per_s"] for row in some) for name, some in rows.items()}
    return {
        "jobs": jobs, "fires_per_s": rates, "ratio": round(rates["cronty"] / rates["bare"], 2),
        "ratio_async": round(rates["cronty async"] / rates["bare"], 2),
        **({"ratio_calendars": round(rates[WITH_CALENDARS] / rates["cronty"], 2)} if calendars else {}),
    }  # fmt: skip
