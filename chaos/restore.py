"""A dump of a frozen moment is restored beside production: the copy fires nothing until it is thawed, and then loses
and doubles nothing; production goes on meanwhile."""

import asyncio
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from chaos.fleet import Fleet, fleet
from chaos.load import EVERY_SLOT, Spec, ask, expected_runs, insert, run_id, until
from chaos.postgres import BIN, Postgres, own_postgres
from chaos.verdict import Figures, broken, examine, read_traces
from cronty.store.database import Database
from cronty.store.freezing import freeze, frozen, thaw
from cronty.store.migrate import migrate

COPY: Final = "copy"
_ENDED: Final = "select count(*) >= $1 from cronty.runs where finished_at is not null"
_CLAIMED: Final = "select job_id, scheduled_for, attempt from cronty.runs where attempt > 0"
_OVERDUE: Final = "select count(*) from cronty.due where next_at < now()"


@dataclass(frozen=True, slots=True)
class Plan:
    """Times are seconds: how long slots fall due, when the dump is taken, how long the copy stays frozen."""

    fires: int = 5000
    workers: int = 2
    duration: float = 30.0
    dump_at: float = 8.0
    frozen: float = 10.0
    lease: float = 3.0
    patience: float = 60.0
    seed: int = 1


def make_load(plan: Plan, start: datetime) -> list[Spec]:
    """Half of the slots are of jobs of a second, half of jobs that run once; some take a while."""
    chance, specs, fires = random.Random(plan.seed), list[Spec](), 0
    while fires < plan.fires:
        arguments = {"seconds": round(chance.random() ** 4, 3)}
        first = start + timedelta(microseconds=int(chance.random() * plan.duration * 1e6))
        count = max(1, int(plan.duration * 0.7)) if chance.random() < 0.05 else 1
        first = start + (first - start) * 0.2 if count > 1 else first
        specs.append(Spec("patient", first, count, policy=EVERY_SLOT, arguments=arguments))
        fires += count
    return specs


async def call(program: str, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(str(BIN / program), *arguments)
    if await process.wait():
        raise RuntimeError(f"{program} failed")


async def restored(postgres: Postgres, folder: Path) -> str:
    """Freeze, dump, thaw; the URL of a database with what the dump holds."""
    production = await Database(postgres.url, size=1, operator=True).open()
    try:
        await freeze(production, "a copy of production")
        await call("pg_dump", "-Fc", "-f", str(folder / "dump"), "-d", postgres.url)
        await thaw(production)
    finally:
        await production.close()
    await ask(postgres.url, f"create database {COPY}")
    url = postgres.url.replace("/postgres?", f"/{COPY}?")
    await call("pg_restore", "-d", url, str(folder / "dump"))
    return url


async def wake(url: str, workers: Fleet, plan: Plan) -> Figures:
    """What a frozen copy does with workers on it, and that it catches up when it is thawed."""
    before = await ask(url, _CLAIMED)
    workers.start(plan.workers)
    await workers.ready()
    await asyncio.sleep(plan.frozen)
    copy = await Database(url, size=1, operator=True).open()
    try:
        held = await frozen(copy)
        figures: Figures = {
            "is_frozen": held is not None, "overdue_while_frozen": (await ask(url, _OVERDUE))[0][0],
            "fired_while_frozen": len(await ask(url, _CLAIMED)) - len(before) + len(read_traces(workers.folder)),
            "claimed_before": {(run_id(row[0], row[1]), row[2]) for row in before},
        }  # fmt: skip
        await thaw(copy)
    finally:
        await copy.close()
    thawed = time.monotonic()
    await until(url, "select exists (select from cronty.runs r where r.started_at > now() - interval '5 seconds')", 30)
    return figures | {"first_after_thaw": round(time.monotonic() - thawed, 2)}


async def drive(postgres: Postgres, plan: Plan, folder: Path) -> Figures:
    await migrate(postgres.url)
    ours, theirs = folder / "production", folder / COPY
    ours.mkdir()
    theirs.mkdir()
    with fleet(postgres.url, ours, lease=plan.lease) as workers:
        workers.start(plan.workers)
        await workers.ready()
        specs = make_load(plan, datetime.now(UTC) + timedelta(seconds=1))
        expected = expected_runs(specs)
        await insert(postgres.url, specs)
        await asyncio.sleep(1 + plan.dump_at)
        url = await restored(postgres, folder)
        with fleet(url, theirs, lease=plan.lease) as others:
            figures = await wake(url, others, plan)
            patience = plan.duration + plan.patience
            settled = [await until(one, _ENDED, patience, len(expected)) for one in (postgres.url, url)]
            workers.retire()
            others.retire()
    claimed = figures.pop("claimed_before")
    at_home = [one for one in read_traces(ours) if (one.run_id, one.attempt) in claimed]
    production = await examine(postgres.url, ours, expected)
    copy = await examine(url, theirs, expected, elsewhere=at_home)
    return {
        "scenario": "restore", "jobs": len(specs), "settled_in_time": all(settled), **figures,
        "production": production | {"broken": broken(production)}, **copy,
    }  # fmt: skip


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres, plan, folder))
    unkept = [name for name in ("settled_in_time", "is_frozen", "overdue_while_frozen") if not figures[name]]
    production = [f"production: {name}" for name in figures["production"]["broken"]]
    return figures | {"broken": unkept + production + broken(figures, "fired_while_frozen")}
