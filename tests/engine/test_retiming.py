"""A new zone database moves the jobs it concerns and leaves the others alone, to workers that lack it too."""

import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from importlib.resources import as_file, files
from pathlib import Path
from typing import cast

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.scheduler import Scheduler
from cronty.timing import tzdata_version, zone_rules
from tests.conftest import START, HandClock, Hands, add

JOBS = 100_000

FILL = """
insert into cronty.owners (id, name) values (1, 'ann');
insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, zone, policy, tags,
  created_at, updated_at, slots_after)
select 1, i, 'job', 'note', '{"args": [], "kwargs": {}}',
  jsonb_build_object('kind', 'cron', 'expression', '0 9 * * *', 'zone', zone), zone, '{}', '{}',
  '%(at)s', '%(at)s', '%(at)s'
from (select (array['Europe/Berlin', 'Asia/Tokyo', 'America/New_York', 'UTC'])[1 + i %% 4] as zone, i
  from generate_series(1, %(jobs)s) i) z;
insert into cronty.due (job_id, owner_id, next_at, serial, expression, zone)
select id, 1, (timestamp '2027-03-01 09:00' at time zone zone)
    + case when (timestamp '2027-03-01 09:00' at time zone zone) <= '%(at)s' then interval '1 day' else '0' end,
  true, '0 9 * * *', zone from cronty.jobs;
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
    print(json.dumps({"version": tzdata_version(), "left": retiming.left_zones, "seconds": time.monotonic() - began}))
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


async def know_zones(sql: asyncpg.Connection, *, digests: dict[str, str] | None = None, version: str = "") -> None:
    """As if jobs had been made by a process with this zone database, or with the one that is installed."""
    for name in await sql.fetch("select distinct zone as name from cronty.due where zone is not null"):
        rules = (digests or {}).get(name["name"], zone_rules(name["name"]))
        await sql.execute(
            "insert into cronty.zones (name, rules, version, changed_at) values ($1, $2, $3, '2020-01-01')"
            " on conflict (name) do update set rules = excluded.rules, version = excluded.version, through = null",
            name["name"], rules, version or tzdata_version(),
        )  # fmt: skip


async def test_a_new_version_moves_what_it_concerns_and_touches_nothing_else(
    url: str, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await sql.execute(FILL % {"at": START, "jobs": JOBS})
    await know_zones(sql)
    assert apply(url, dict(os.environ))["left"] == []
    untouched = (
        "select md5(string_agg(d::text || d.xmin, '' order by job_id)) from cronty.due d where zone <> 'Europe/Berlin'"
    )
    before = await sql.fetchval(untouched)
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed") == 0, (
        "the version they were computed with moves nobody"
    )
    figures = apply(url, new_version(tmp_path))
    print(json.dumps({"jobs": JOBS, **figures}))
    assert figures["version"] == "2099a"
    assert await sql.fetchval(untouched) == before
    berlin = await sql.fetch("select next_at, count(*) from cronty.due where zone = 'Europe/Berlin' group by 1")
    assert [tuple(row) for row in berlin] == [(START + timedelta(hours=22), JOBS // 4)], "nine in Moscow is six in UTC"
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed") == JOBS // 4
    line = await sql.fetchrow(
        "select what, before->>'next_slot' as before, after->>'next_slot' as after from cronty.audit_unsealed"
    )
    assert line is not None
    assert line["what"] == "moved by a new zone database"
    assert line["before"] != line["after"]


async def test_it_is_done_once_for_the_whole_fleet(url: str, sql: asyncpg.Connection, tmp_path: Path) -> None:
    await sql.execute(FILL % {"at": START, "jobs": 100})
    await know_zones(sql)
    environment = new_version(tmp_path)
    for _ in range(3):
        apply(url, environment)
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed where what like 'moved%'") == 25
    changed = await sql.fetch("select name from cronty.zones where version = '2099a'")
    assert [row["name"] for row in changed] == ["Europe/Berlin"], "the others have the rules they had"


async def test_an_older_worker_leaves_only_zones_that_differ_to_newer_ones(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: asyncpg.Connection,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    await add(door, "cron", {"expression": "1 9 * * *"}, timezone="Europe/Berlin", name="differs", args=("differs",))
    await add(door, "cron", {"expression": "1 9 * * *"}, timezone="Europe/Paris", name="same", args=("same",))
    await add(door, name="no zone", args=("no zone",))
    await know_zones(sql, digests={"Europe/Berlin": "moved"}, version="2099a")
    await sql.execute(
        "insert into cronty.workers values (7, 'new', '2', '2099a', 1, $1, $1, $1::timestamptz + interval '1 day')",
        START,
    )
    await hands.engine.retiming.step()
    clock.advance(hours=2)
    await hands.all()
    assert {call[0] for call in cast("list[tuple[str]]", calls)} == {"same", "no zone"}
    assert "jobs in Europe/Berlin are left to them" in caplog.text
    assert await hands.engine.firing.step(hands.engine.worker) > 1, "what is left to others is no reason to hurry"


async def test_after_a_rollback_the_fleet_goes_on_by_the_rules_it_has(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: asyncpg.Connection
) -> None:
    """One newer worker was seen once, moved jobs, and is gone for good."""
    await add(door, "cron", {"expression": "1 9 * * *"}, timezone="Europe/Berlin")
    await sql.execute("update cronty.due set next_at = next_at + interval '1 hour'")
    await know_zones(sql, digests={"Europe/Berlin": "moved"}, version="2099a")
    await hands.engine.retiming.step()
    assert hands.engine.retiming.left_zones == []
    assert await sql.fetchval("select next_at from cronty.due") == START + timedelta(minutes=1)
    clock.advance(minutes=1)
    await hands.fire()
    assert len(calls) == 1


async def test_a_job_that_starts_later_still_does_so_after_a_move(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    await add(
        door, "cron", {"expression": "0 9 * * *"}, timezone="Europe/Berlin", starts_at="2027-09-01T00:00:00+02:00"
    )
    before = await sql.fetchval("select next_at from cronty.due")
    await know_zones(sql, digests={"Europe/Berlin": "older"}, version="2000a")
    await hands.engine.retiming.step()
    assert await sql.fetchval("select version from cronty.zones") == tzdata_version()
    assert await sql.fetchval("select next_at from cronty.due") == before


@pytest.mark.parametrize("how", ["missed", "paused"])
async def test_slots_that_have_their_verdict_get_no_second_one_by_a_move(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, how: str
) -> None:
    """Three slots were missed and told in one row, which has gone with its week; the next slot comes after them all."""
    rule: dict[str, object] = {"expression": "0 9 * * MON"}
    job = await add(door, "cron", rule, timezone="Europe/Berlin", policy={"catch_up": "none"})
    if how == "paused":
        await door.pause(local_caller("ann"), job.number)
    clock.advance(days=24)
    await hands.fire()
    if how == "paused":
        await door.resume(local_caller("ann"), job.number)
    before = await sql.fetchval("select next_at from cronty.due")
    assert [row["slots"] for row in await sql.fetch("delete from cronty.runs returning slots")] == [3]
    await know_zones(sql, digests={"Europe/Berlin": "older"}, version="2000a")
    await sql.execute("update cronty.jobs set slots_after = '2020-01-01'")
    await hands.engine.retiming.step()
    assert await sql.fetchval("select next_at from cronty.due") == before


@pytest.mark.parametrize("what", ["fire", "edit"])
async def test_a_move_goes_by_what_was_committed_while_the_job_was_locked(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, what: str
) -> None:
    await add(door, "cron", {"expression": "0 9 * * MON"}, timezone="Europe/Berlin", policy={"catch_up": "none"})
    clock.advance(days=24)
    await hands.fire()  # three slots are told in one row
    await know_zones(sql, digests={"Europe/Berlin": "older"}, version="2000a")
    await sql.execute("update cronty.jobs set slots_after = '2020-01-01'")
    await sql.execute("create temp table fired as select * from cronty.runs")
    if what == "fire":
        await sql.execute("delete from cronty.runs")
    async with sql.transaction():
        await sql.execute("select from cronty.due for update")
        await hands.engine.retiming.step()
        if what == "fire":
            await sql.execute("insert into cronty.runs select * from fired")
        else:
            await sql.execute(
                "update cronty.jobs set slots_after = $1, trigger = jsonb_set(trigger, '{expression}', $2)",
                clock(), '"0 10 * * MON"',
            )  # fmt: skip
            await sql.execute(
                "update cronty.due set expression = '0 10 * * MON', next_at = next_at + interval '1 hour'"
            )
        expected = await sql.fetchval("select next_at from cronty.due")
    await hands.engine.retiming.step()
    assert await sql.fetchval("select next_at from cronty.due") == expected
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed where what like 'moved%'") == 0


async def test_a_locked_job_is_moved_later_and_keeps_no_other_from_being_moved(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("cronty.engine.retiming.BATCH", 1)
    for owner in ("ann", "bob", "eve"):
        await add(door, "cron", {"expression": "0 9 * * *"}, timezone="Europe/Berlin", owner=owner)
    right = await sql.fetchval("select min(next_at) from cronty.due")
    await sql.execute("update cronty.due set next_at = next_at + interval '1 hour'")
    await know_zones(sql, digests={"Europe/Berlin": "older"}, version="2000a")

    async def step_to_the_end() -> list[int]:
        while await hands.engine.retiming.step() == 0:
            pass
        return [row[0] for row in await sql.fetch("select job_id from cronty.due where next_at = $1 order by 1", right)]

    first, bobs, last = [row[0] for row in await sql.fetch("select job_id from cronty.due order by job_id")]
    other = await asyncpg.connect(url)
    async with other.transaction():
        await other.execute("select from cronty.due where job_id = $1 for update", bobs)
        assert await step_to_the_end() == [first, last]
        clock.advance(minutes=5)  # every engine knows the new rules by now
        for _ in range(3):
            assert await step_to_the_end() == [first, last]
    await other.close()
    assert await step_to_the_end() == [first, bobs, last]
    assert await sql.fetchval("select through from cronty.zones") is None


async def test_a_slot_computed_by_a_door_with_other_rules_is_looked_at_again(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection
) -> None:
    await add(door, "cron", {"expression": "0 9 * * *"}, timezone="Europe/Berlin", name="before")
    await know_zones(sql, digests={"Europe/Berlin": "the fleet's"})
    job = await add(door, "cron", {"expression": "0 9 * * *"}, timezone="Europe/Berlin", name="after")
    assert await sql.fetchval("select through from cronty.zones") == job.id - 1
    await sql.execute("update cronty.due set next_at = next_at + interval '1 hour'")
    await know_zones(sql)
    await sql.execute("update cronty.zones set through = $1", job.id - 1)
    await hands.engine.retiming.step()
    moved = await sql.fetch("select job_id from cronty.audit_unsealed where what like 'moved%'")
    assert [row["job_id"] for row in moved] == [job.id]


async def test_two_hundred_steps_use_up_nothing(hands: Hands, sql: asyncpg.Connection) -> None:
    """An engine looks every half minute for years: no number may be spent on it."""
    before = await sql.fetch("select sequencename, last_value from pg_sequences where schemaname = 'cronty' order by 1")
    for _ in range(200):
        await hands.engine.retiming.step()
    await hands.engine.enlist()
    after = await sql.fetch("select sequencename, last_value from pg_sequences where schemaname = 'cronty' order by 1")
    assert after == before


async def test_the_chain_of_slots_survives_a_move(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await add(door, "cron", {"expression": "0 9 * * *"}, timezone="Europe/Berlin")
    clock.advance(days=1)
    await hands.all()
    await sql.execute("update cronty.due set next_at = next_at + interval '1 hour'")  # as if computed elsewhere
    await sql.execute("update cronty.runs set followed_by = followed_by + interval '1 hour'")
    await know_zones(sql, digests={"Europe/Berlin": "older"}, version="2000a")
    await hands.engine.retiming.step()
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed where what like 'moved%'") == 1
    assert await sql.fetch("select * from cronty.slots_unaccounted where why like 'its%'") == []


async def test_a_one_off_said_as_a_local_time_moves_and_one_said_as_an_instant_stays(
    door: Scheduler, hands: Hands, url: str, sql: asyncpg.Connection, tmp_path: Path
) -> None:
    await add(door, "once", {"run_at": "2027-05-03T09:00:00"}, timezone="Europe/Berlin")
    await add(door, "once", {"run_at": "2027-05-03T09:00:00+02:00"}, timezone="Europe/Berlin")
    apply(url, new_version(tmp_path))
    moved = await sql.fetch("select next_at at time zone 'UTC' from cronty.due order by job_id")
    assert [row[0].hour for row in moved] == [6, 7]
