"""One table of what everything costs as a database grows, from ten thousand jobs to ten million; kept as JSON lines."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import fires, idle, pages
from bench.erase import erase
from bench.fill import connected, copy, drop_copy
from bench.meter import Meter, server_cpu
from bench.recipe import BASE, SMALL, START
from cronty.actions.tasks import Registry
from cronty.engine.engine import Engine, EngineOptions
from cronty.engine.retiming import Retiming
from cronty.store.database import Database
from cronty.store.engine_store import EngineStore
from cronty.store.zone_store import ZoneStore

type Figures = dict[str, Any]
type Results = dict[tuple[int, str], Figures]
"""By size and part; a part that failed has `error` and nothing else."""

PARTS: Final = ("idle", "pages", "prune", "retime", "fires", "erase")
LONGEST: Final = 1200.0
"""Seconds after which a part is given up."""

KEPT_DAYS: Final = 90.0
MOVED: Final = 100_000
MOVED_ZONE: Final = "Europe/Berlin"
BARE_WORKER: Final = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """How long and how often to measure."""

    seconds: float = 10
    rounds: int = 3
    idle_seconds: float = 60


async def main(server: str, postmaster: int, sizes: list[int], asked: Asked, into: Path) -> Results:
    """Measure what `into` doesn't have yet, a line for each part as soon as it is there."""
    results = read(into)
    for jobs in sizes:
        for part in PARTS:
            if not wanted(results, jobs, part):
                continue
            print(f"{jobs:,} jobs: {part}", file=sys.stderr, flush=True)
            results[jobs, part] = await measured(part, server, postmaster, jobs, asked)
            write(into, jobs, part, results[jobs, part])
    await drop_copy(server)
    return results


def wanted(results: Results, jobs: int, part: str) -> bool:
    found = results.get((jobs, part))
    return found is None or "error" in found


async def measured(part: str, server: str, postmaster: int, jobs: int, asked: Asked) -> Figures:
    measures: dict[str, Callable[[], Awaitable[Figures]]] = {
        "idle": lambda: on_a_copy(server, jobs, lambda url: idle.minute(url, postmaster, asked.idle_seconds)),
        "pages": lambda: on_a_copy(server, jobs, lambda url: pages.grown(url, postmaster, SMALL, asked.rounds + 2)),
        "prune": lambda: on_a_copy(server, jobs, lambda url: prune(url, postmaster)),
        "retime": lambda: on_a_copy(server, jobs, retime),
        "fires": lambda: fire(server, postmaster, jobs, asked),
        "erase": lambda: on_a_copy(server, jobs, erase),
    }
    began = time.perf_counter()
    try:
        async with asyncio.timeout(LONGEST):
            figures = await measures[part]()
    except Exception as failed:  # the others are worth having all the same
        figures: Figures = {"error": f"{type(failed).__name__}: {failed}"[:300]}
    load = round(os.getloadavg()[0], 1)  # of the last minute: times mean little on a busy machine
    return {**figures, "took_s": round(time.perf_counter() - began, 1), "load": load}


async def on_a_copy(server: str, jobs: int, measure: Callable[[str], Awaitable[Figures]]) -> Figures:
    return await measure(await copy(server, jobs))


# -- results ----------------------------------------------------------------------------------------------------


def read(path: Path) -> Results:
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {(line.pop("size"), line.pop("part")): line for line in lines}


def write(path: Path, jobs: int, part: str, figures: Figures) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"size": jobs, "part": part, **figures})
    print(line, flush=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


# -- measures ---------------------------------------------------------------------------------------------------


async def prune(url: str, postmaster: int) -> Figures:
    """The whole duty, at the moment when the first week of history is old enough; no statement should take long."""
    monday = START - timedelta(days=START.weekday())
    now = monday + timedelta(days=7 + KEPT_DAYS, hours=1)
    async with connected(url) as sql:
        meter = Meter(sql, postmaster)
        with meter.listening():
            database = await Database(url, hot=True, clock=lambda: now).open()
            engine = Engine(database, Registry(), EngineOptions(keep_days=KEPT_DAYS))
            await engine.enlist()
            before = await sql.fetchrow(_HISTORY)
            async with meter.reading() as cost:
                while await engine._prune() == 0:  # pyright: ignore[reportPrivateUsage]
                    pass
            engine.working.close()
            await database.close()
        after = await sql.fetchrow(_HISTORY)
    assert before is not None
    assert after is not None
    return {
        "longest_ms": round(cost.longest_s * 1000, 1), "statements": cost.statements,
        "seconds": round(cost.seconds, 2), "weeks": before["weeks"] - after["weeks"],
        "jobs": before["jobs"] - after["jobs"],
    }  # fmt: skip


_HISTORY: Final = """
select (select count(*) from pg_inherits where inhparent = 'cronty.runs'::regclass) as weeks,
  (select count(*) from cronty.due) as jobs
"""


async def retime(url: str) -> Figures:
    """New rules for a zone that put 100,000 of its jobs, or all, an hour earlier: how many are moved in a second."""
    database = await Database(url, hot=True, clock=lambda: BASE).open()
    retiming = Retiming(ZoneStore(database))
    steps: list[float] = []
    async with connected(url) as sql:
        await sql.execute("update cronty.zones set rules = 'older', version = '2000a' where name = $1", MOVED_ZONE)
        await sql.execute(_DISPLACE.format(zone=MOVED_ZONE, most=MOVED), timeout=600)
        await sql.execute("vacuum analyze cronty.due", timeout=600)
        last = await sql.fetchval("select max(job_id) from displaced")
        many = await sql.fetchval("select count(*) from displaced")
        through = 0
        while through < last:
            if await timed(retiming.step(), steps):
                break
            through = await sql.fetchval("select through from cronty.zones where name = $1", MOVED_ZONE)
        left = await sql.fetchval(_LEFT)
    await database.close()
    if left:
        raise RuntimeError(f"{left} of {many} jobs weren't moved back")
    return {
        "jobs": many, "steps": len(steps), "seconds": round(sum(steps), 2),
        "per_s": round(many / sum(steps)), "longest_ms": round(max(steps) * 1000, 1),
    }  # fmt: skip


_DISPLACE: Final = """
create temp table displaced as
  select job_id, next_at from cronty.due where zone = '{zone}' and next_at is not null order by job_id limit {most};
update cronty.due d set next_at = d.next_at + interval '1 hour' from displaced s where s.job_id = d.job_id
"""
_LEFT: Final = "select count(*) from displaced s join cronty.due d using (job_id) where d.next_at <> s.next_at"


async def fire(server: str, postmaster: int, jobs: int, asked: Asked) -> Figures:
    """Fires per second through an engine and bare, in turns, each on a copy of its own."""
    rows: dict[str, list[Figures]] = {"cronty": [], "bare": []}
    hows = {"cronty": fire_through, "bare": fires.bare}
    for turn in range(asked.rounds):
        for name in list(hows) if turn % 2 == 0 else list(reversed(hows)):
            url = await copy(server, jobs)
            rows[name].append(await fired(url, postmaster, lambda url, name=name: hows[name](url, asked.seconds)))
    ours, bare = ({what: median(row[what] for row in some) for what in some[0]} for some in rows.values())
    return {
        "per_s": round(ours["per_s"]), "bare_per_s": round(bare["per_s"]),
        "ratio": round(ours["per_s"] / bare["per_s"], 2), "fires": round(ours["fires"]), "wal": round(ours["wal"]),
        "python_us": round(ours["python_us"], 1), "postgres_us": round(ours["postgres_us"], 1),
        "bare_python_us": round(bare["python_us"], 1), "bare_postgres_us": round(bare["postgres_us"], 1),
    }  # fmt: skip


async def fired(url: str, postmaster: int, how: Callable[[str], Awaitable[float]]) -> Figures:
    """What moves with whatever else the machine does, and, which moves less, processor time and WAL per fire."""
    database = await Database(url, hot=True, clock=lambda: fires.NOW).open()
    await EngineStore(database).make_partitions([BASE])
    await database.close()
    async with connected(url) as sql:
        await sql.execute(
            "insert into cronty.workers (id, name, version, tzdata, concurrency, started_at, beat_at, lease_until)"
            " values ($1, 'bare', '0', '0', 1, now(), now(), 'infinity')", BARE_WORKER
        )  # fmt: skip
        await sql.execute("checkpoint", timeout=600)
        before = await fires.count(sql)
        mine, theirs = time.process_time(), server_cpu(postmaster)
        took = await how(url)
        python, postgres = time.process_time() - mine, server_cpu(postmaster) - theirs
        after = await fires.count(sql)
        done = "select count(*) from cronty.runs where scheduled_for >= $1 and state = 'done'"
        count = await sql.fetchval(done, BASE, timeout=600)
    return {
        "fires": count, "per_s": count / took, "wal": (after.wal - before.wal) / count,
        "python_us": python * 1e6 / count, "postgres_us": postgres * 1e6 / count,
    }  # fmt: skip


async def fire_through(url: str, seconds: float) -> float:
    """An engine for a while, or until nothing is due any more; how long it took to fire and settle."""
    performed = 0

    def noop(**_arguments: object) -> None:
        nonlocal performed
        performed += 1

    async with connected(url) as sql:
        due = await sql.fetchval("select count(*) from cronty.due where next_at <= $1", fires.NOW, timeout=600)
    registry = Registry()
    registry.add(noop)
    database = await Database(url, clock=lambda: fires.NOW, hot=True).open()
    engine = Engine(database, registry, EngineOptions())
    began = time.perf_counter()
    try:
        await engine.start()
        while performed < due and time.perf_counter() - began < seconds:
            await asyncio.sleep(0.01)
    finally:
        await engine.stop()
    took = time.perf_counter() - began
    await database.close()
    return took


async def timed[T](act: Awaitable[T], into: list[float]) -> T:
    began = time.perf_counter()
    result = await act
    into.append(time.perf_counter() - began)
    return result
