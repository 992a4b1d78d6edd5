"""A new zone database moves the jobs it concerns, leaves the others alone, and stops workers that lack it."""

import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from importlib.resources import as_file, files
from pathlib import Path

import asyncpg
import pytest

from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add

JOBS = 100_000

FILL = """
insert into cronty.owners (id, name) values (1, 'ann');
insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, zone, policy, tags, created_at, updated_at)
select 1, i, 'job', 'note', '{"args": [], "kwargs": {}}',
  jsonb_build_object('kind', 'cron', 'expression', '0 9 * * *', 'zone', zone), zone, '{}', '{}', '%(at)s', '%(at)s'
from (select (array['Europe/Berlin', 'Asia/Tokyo', 'America/New_York', 'UTC'])[1 + i %% 4] as zone, i
  from generate_series(1, %(jobs)s) i) z;
insert into cronty.due (job_id, owner_id, next_at, serial, expression, zone, tzdata)
select id, 1, (timestamp '2027-03-01 09:00' at time zone zone)
    + case when (timestamp '2027-03-01 09:00' at time zone zone) <= '%(at)s' then interval '1 day' else '0' end,
  true, '0 9 * * *', zone, 0 from cronty.jobs;
"""

APPLY = """
import asyncio, json, sys, time
from cronty.engine.retiming import Retiming
from cronty.store.database import Database
from cronty.store.zone_store import ZoneStore
from cronty.timing import tzdata_version

async def main():
    database = await Database(sys.argv[1], hot=True).open()
    retiming, began = Retiming(ZoneStore(database)), time.monotonic()
    while await retiming.step() == 0:
        pass
    print(json.dumps({"version": tzdata_version(), "outdated": retiming.outdated, "seconds": time.monotonic() - began}))
    await database.close()

asyncio.run(main())
"""


def new_version(folder: Path) -> dict[str, str]:
    """An environment with a zone database of next year, in which Berlin keeps Moscow's clocks."""
    with as_file(files("tzdata")) as package:
        shutil.copytree(package, folder / "tzdata")
    shutil.copy(folder / "tzdata/zoneinfo/Europe/Moscow", folder / "tzdata/zoneinfo/Europe/Berlin")
    (folder / "tzdata/__init__.py").write_text('IANA_VERSION = "2099a"\n__version__ = "2099.1"\n')
    return {**os.environ, "PYTHONPATH": str(folder)}


def apply(url: str, environment: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", APPLY, url], env=environment, check=False, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def test_a_new_version_moves_what_it_concerns_and_touches_nothing_else(
    url: str, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await sql.execute(FILL % {"at": START, "jobs": JOBS})
    assert apply(url, dict(os.environ))["outdated"] is False
    untouched = (
        "select md5(string_agg(d::text || d.xmin, '' order by job_id)) from cronty.due d where zone <> 'Europe/Berlin'"
    )
    before = await sql.fetchval(untouched)
    assert await sql.fetchval("select count(*) from cronty.audit") == 0, (
        "the version they were computed with moves nobody"
    )
    figures = apply(url, new_version(tmp_path))
    print(json.dumps({"jobs": JOBS, **figures}))
    assert figures["version"] == "2099a"
    assert await sql.fetchval(untouched) == before
    berlin = await sql.fetch("select next_at, count(*) from cronty.due where zone = 'Europe/Berlin' group by 1")
    assert [tuple(row) for row in berlin] == [(START + timedelta(hours=22), JOBS // 4)], "nine in Moscow is six in UTC"
    assert await sql.fetchval("select count(*) from cronty.audit") == JOBS // 4
    line = await sql.fetchrow(
        "select what, before->>'next_slot' as before, after->>'next_slot' as after from cronty.audit"
    )
    assert line is not None
    assert line["what"] == "moved by a new zone database"
    assert line["before"] != line["after"]
    assert float(str(figures["seconds"])) < 60


async def test_it_is_done_once_for_the_whole_fleet(url: str, sql: asyncpg.Connection, tmp_path: Path) -> None:
    await sql.execute(FILL % {"at": START, "jobs": 100})
    environment = new_version(tmp_path)
    for _ in range(3):
        apply(url, environment)
    assert await sql.fetchval("select count(*) from cronty.audit") == 25
    assert await sql.fetchval("select count(*) from cronty.tzdata where retimed_at is not null") == 1


async def test_a_worker_with_an_older_version_says_so_and_does_not_fire(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: asyncpg.Connection,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    await add(door)
    await sql.execute("insert into cronty.tzdata (name) values ('2099a')")
    await hands.engine.retiming.step()
    clock.advance(minutes=1)
    assert await hands.engine._fire() > 0  # pyright: ignore[reportPrivateUsage]
    assert calls == []
    assert "the fleet has 2099a: it fires nothing until it is upgraded" in caplog.text


async def test_the_chain_of_slots_survives_a_move(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await add(door, "cron", {"expression": "0 9 * * *"}, timezone="Europe/Berlin")
    clock.advance(days=1)
    await hands.all()
    await sql.execute(
        "update cronty.due set next_at = next_at + interval '1 hour', tzdata = 0"
    )  # as if computed elsewhere
    await sql.execute("update cronty.runs set followed_by = followed_by + interval '1 hour'")
    await hands.engine.retiming.step()
    assert await sql.fetchval("select count(*) from cronty.audit where what like 'moved%'") == 1
    assert await sql.fetch("select * from cronty.slots_unaccounted where why like 'its%'") == []


async def test_a_one_off_said_as_a_local_time_moves_and_one_said_as_an_instant_stays(
    door: Scheduler, hands: Hands, url: str, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await add(door, "once", {"run_at": "2027-05-03T09:00:00"}, timezone="Europe/Berlin")
    await add(door, "once", {"run_at": "2027-05-03T09:00:00+02:00"}, timezone="Europe/Berlin")
    apply(url, new_version(tmp_path))
    moved = await sql.fetch("select next_at at time zone 'UTC' from cronty.due order by job_id")
    assert [row[0].hour for row in moved] == [6, 7]
