"""A backup reads millions of runs while a week ends, or a reader keeps its snapshot for long: firing doesn't notice."""

import asyncio
import os
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import asyncpg

from chaos.fleet import fleet
from chaos.load import EPOCH, EVERY_SLOT, Spec, ask, expected_runs, insert, until
from chaos.postgres import BIN, Postgres, own_postgres
from chaos.verdict import Figures, broken, examine, read_traces
from cronty.store.migrate import migrate

WEEK: Final = timedelta(days=7)
KEPT: Final = 2 * WEEK
HISTORY: Final = "history"
CHUNK: Final = 250_000
PERIOD: Final = timedelta(seconds=10)
STRETCH: Final = timedelta(seconds=20)
STEP: Final = 0.05
"""Slots lie on this grid, in seconds: a steady load that leaves the machine mostly idle."""

STARTING: Final = 30.0
"""Seconds for workers to start; what is left of them is fired in and compared with."""

LATE: Final = 2.0
"""Seconds that a fire may be later because of a backup."""

_FILL: Final = """
insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at, result)
select 1000000000 + i % 10000, slot, $1, 'done', 1, slot, slot + interval '10 ms', '[1, 4711]'
from (select i, $2::timestamptz + i * $3::interval as slot from generate_series($4::bigint, $5::bigint) i) s
"""
_HOLDS: Final = """
select exists (select from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where a.application_name = 'pg_dump' and l.granted and l.relation = $1::text::regclass)
"""
_THERE: Final = "select to_regclass($1) is not null"
_SIZE: Final = (
    "select sum(pg_relation_size(inhrelid))::bigint from pg_inherits where inhparent = 'cronty.runs'::regclass"
)
_PAGES: Final = "select blks_hit + blks_read from pg_stat_database where datname = current_database()"
_DEAD: Final = "select n_dead_tup from pg_stat_user_tables where relid = 'cronty.due'::regclass"


LAST: Final = 300.0
"""Seconds at the end of a held snapshot that are compared with those before it, and those after it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Times are seconds. The backup begins `lead` before the week ends; `held` replaces it by a reader that only sits.

    Workers prune every `prune_every`, instead of each hour and, where a reader is in the way, after five minutes.
    """

    runs: int = 5_000_000
    rate: int = 200
    workers: int = 3
    before: float = 60.0
    lead: float = 15.0
    held: float = 0.0
    prune_every: float = 5.0
    patience: float = 120.0
    allowance: float = 0.0
    seed: int = 1


class Stream:
    """Jobs that keep firing `rate` slots a second, by a clock that is `ahead`."""

    def __init__(self, url: str, plan: Plan, ahead: timedelta) -> None:
        self._url = url
        self._rate = plan.rate
        self._chance = random.Random(plan.seed)
        self._ahead = ahead
        self._one_by_one = asyncio.Lock()
        self.specs: list[Spec] = []

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    async def feed(self, start: datetime, length: timedelta) -> None:
        steps = int(PERIOD.total_seconds() / STEP)
        tasks = ("plain", "patient")
        offsets = [self._chance.randrange(steps) * STEP for _ in range(int(self._rate * PERIOD.total_seconds()))]
        await self.add(
            [
                Spec(self._chance.choice(tasks), start + timedelta(seconds=offset), length // PERIOD, PERIOD)
                for offset in offsets
            ]
        )

    async def add(self, specs: Sequence[Spec]) -> None:
        async with self._one_by_one:
            await insert(self._url, specs, len(self.specs) + 1)
            self.specs += specs

    async def keep_feeding(self, enough: asyncio.Event) -> None:
        """One stretch after the other, each made well before it begins."""
        start = self.now() + timedelta(seconds=2)
        while not enough.is_set():
            await self.feed(start, STRETCH)
            start += STRETCH
            with suppress(TimeoutError):
                await asyncio.wait_for(enough.wait(), (start - self.now()).total_seconds() - 5)


class Dump:
    """pg_dump into a pipe that is read half and then left, as by a slow disk, until it may `end`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._may_end = asyncio.Event()
        self.read = 0
        self.code: int | None = None

    async def take(self) -> None:
        size: int = (await ask(self._postgres.url, _SIZE))[0][0]
        dump = await asyncio.create_subprocess_exec(
            str(BIN / "pg_dump"), "-d", self._postgres.url, stdout=asyncio.subprocess.PIPE
        )
        assert dump.stdout is not None
        try:
            while piece := await dump.stdout.read(1 << 20):
                self.read += len(piece)
                if self.read > size // 2:
                    await self._may_end.wait()
            self.code = await dump.wait()
        finally:
            if dump.returncode is None:
                dump.kill()

    def end(self) -> None:
        self._may_end.set()


def partition(monday: datetime) -> str:
    return f"cronty.runs_{monday:%Y%m%d}"


async def fill(url: str, runs: int, begin: datetime, end: datetime) -> None:
    """History of another owner, evenly from `begin` to `end`, vacuumed as history is."""
    connection = await asyncpg.connect(url)
    try:
        for week in range((end - begin) // WEEK + 1):
            await connection.execute("select cronty.make_run_partition($1)", begin + week * WEEK)
        owner = await connection.fetchval("insert into cronty.owners (name) values ($1) returning id", HISTORY)
        await connection.execute("set synchronous_commit = off")
        apart = (end - begin) / max(runs, 1)
        for first in range(0, runs, CHUNK):
            await connection.execute(_FILL, owner, begin, apart, first, min(first + CHUNK, runs) - 1)
        await connection.execute("vacuum (analyze) cronty.runs")
        await connection.execute("checkpoint")
    finally:
        await connection.close()


class Lags:
    """Seconds from each slot to the start of its run, by when the slot was."""

    def __init__(self, folder: Path, ahead: timedelta) -> None:
        offset = time.time() - time.monotonic() + ahead.total_seconds()
        slots = ((trace.slot - EPOCH, trace) for trace in read_traces(folder))
        self._all = sorted((slot.total_seconds(), trace.at + offset - slot.total_seconds()) for slot, trace in slots)

    def between(self, begin: datetime, end: datetime) -> list[float]:
        first, last = begin.timestamp(), end.timestamp()
        return sorted(lag for slot, lag in self._all if first <= slot < last)


def _told(name: str, lags: list[float]) -> Figures:
    if not lags:
        return {f"fires_{name}": 0}
    p50, p99 = (lags[int(len(lags) * share)] for share in (0.5, 0.99))
    told = {"p50": p50, "p99": p99, "max": lags[-1]}
    return {f"fires_{name}": len(lags)} | {f"lag_{name}_{key}": round(value, 3) for key, value in told.items()}


async def back_up(postgres: Postgres, stream: Stream, plan: Plan, turn: datetime) -> tuple[list[datetime], Figures]:
    """Take a dump over the end of a week; when it began and all of it was over, and what became of the weeks."""
    url, old, new, ages_ago = postgres.url, turn - KEPT - WEEK, turn + 2 * WEEK, turn - 40 * WEEK
    await asyncio.sleep((turn - stream.now()).total_seconds() - plan.lead)
    began = stream.now()
    ready = (await ask(url, f"{_THERE}, not ({_THERE.replace('$1', '$2')})", partition(turn), partition(new)))[0]
    dump = Dump(postgres)
    taking = asyncio.create_task(dump.take())
    held = await until(url, _HOLDS, plan.patience, partition(old)) and stream.now() < turn
    await asyncio.sleep(max(0.0, (turn - stream.now()).total_seconds()))
    made = await until(url, _THERE, plan.patience, partition(new))
    made_at = stream.now()
    await stream.add([Spec("plain", ages_ago, policy=dict(EVERY_SLOT) | {"catch_up_window": 365 * 86400})])
    caught_up = await until(
        url, f"{_THERE} and exists (select from cronty.runs where scheduled_for = $2 and state = 'done')",
        plan.patience, partition(ages_ago), ages_ago,
    )  # fmt: skip
    await asyncio.sleep(3 * plan.prune_every)  # every worker has tried to drop the old week, more than once
    kept = (await ask(url, f"{_THERE}, ({_HOLDS.replace('$1', '$2')})", partition(old), partition(old)))[0]
    dump.end()
    await taking
    ended = stream.now()
    gone = await until(url, f"select not ({_THERE})", plan.patience, partition(old))
    over = stream.now()
    refused = postgres.log.count("canceling statement due to lock timeout")
    return [began, over], {
        "dump_seconds": round((ended - began).total_seconds(), 1), "dump_bytes": dump.read,
        "dump_failed": dump.code != 0, "locks_before_turn": held, "locks_after_turn": kept[1],
        "week_ready": bool(ready[0]), "next_week_made": bool(ready[1]) and made,
        "next_week_made_after": round((made_at - turn).total_seconds(), 1), "long_ago_done": caught_up,
        "old_week_kept": kept[0], "drops_refused": refused, "old_week_gone": gone,
        "old_week_gone_after": round((over - ended).total_seconds(), 1),
    }  # fmt: skip


async def hold(url: str, stream: Stream, plan: Plan) -> tuple[list[datetime], Figures]:
    """Keep a snapshot for `held` seconds; when that began, when its last part began, and when it ended.

    Firing goes on for a while afterwards: lag that doesn't go back then is the machine's.
    """
    moments: list[datetime] = []
    pages: list[int] = []

    async def look_after(seconds: float) -> None:
        await asyncio.sleep(seconds)
        moments.append(stream.now())
        pages.append((await ask(url, _PAGES))[0][0])

    last = min(LAST, plan.held / 2)
    reader = await asyncpg.connect(url)
    try:
        await look_after(0)
        await look_after(plan.before)
        async with reader.transaction(isolation="repeatable_read", readonly=True):
            await reader.fetchval("select count(*) from cronty.owners")
            await look_after(plan.held - last)
            await look_after(last)
            dead: int = (await ask(url, _DEAD))[0][0]
    finally:
        await reader.close()
    await look_after(min(LAST, plan.before))
    return moments[1:], {
        "held": plan.held, "dead_entries": dead,
        "pages_per_fire_before": round((pages[1] - pages[0]) / plan.before / plan.rate),
        "pages_per_fire_meanwhile": round((pages[3] - pages[2]) / last / plan.rate),
    }  # fmt: skip


async def drive(postgres: Postgres, plan: Plan, folder: Path) -> Figures:
    await migrate(postgres.url)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    turn = today - timedelta(days=today.weekday()) + (timedelta() if plan.held else 2 * WEEK)
    began = time.monotonic()
    await fill(postgres.url, plan.runs, turn - KEPT - WEEK, turn - timedelta(days=1))
    filled = time.monotonic() - began
    ahead, settings = timedelta(), dict[str, str]()
    if not plan.held:
        ahead = turn - datetime.now(UTC) - timedelta(seconds=STARTING + plan.before + plan.lead)
        settings = {
            "CHAOS_AHEAD": str(ahead.total_seconds()), "CHAOS_PRUNE_EVERY": str(plan.prune_every),
            "CRONTY_KEEP_DAYS": str(KEPT / timedelta(days=1)),
        }  # fmt: skip
    stream, enough = Stream(postgres.url, plan, ahead), asyncio.Event()
    with fleet(postgres.url, folder, lease=10, settings=settings) as workers:
        workers.start(plan.workers)
        await workers.ready()
        steady = stream.now() + timedelta(seconds=4)
        load = [os.getloadavg()[0]]
        if plan.held:
            whole = timedelta(seconds=2 * plan.before + plan.held) + PERIOD
            await stream.feed(stream.now() + timedelta(seconds=2), whole)
            moments, figures = await hold(postgres.url, stream, plan)
        else:
            feeding = asyncio.create_task(stream.keep_feeding(enough))
            moments, figures = await back_up(postgres, stream, plan, turn)
            enough.set()
            await feeding
        load.append(os.getloadavg()[0])
        expected = expected_runs(stream.specs)
        settled = await until(
            postgres.url,
            "select count(*) >= $1 from cronty.runs where finished_at is not null and job_id <= $2",
            plan.patience + STRETCH.total_seconds(), len(expected), len(stream.specs),
        )  # fmt: skip
        stubborn = workers.retire()
        return {
            "scenario": "backup", "history": plan.runs, "filled_in": round(filled, 1), "rate": plan.rate,
            "workers_died": workers.died, "stubborn": stubborn, "settled_in_time": settled, "load": load, **figures,
            **compare(Lags(folder, ahead), plan, steady, moments),
            **await examine(postgres.url, folder, expected, history_of=HISTORY),
        }  # fmt: skip


def compare(lags: Lags, plan: Plan, steady: datetime, moments: Sequence[datetime]) -> Figures:
    """Lag before and while: of all of a backup, of the last part of a held snapshot."""
    start, end = moments[1:3] if plan.held else moments
    before, meanwhile = lags.between(steady, moments[0]), lags.between(start, end)
    told = _told("before", before) | _told("meanwhile", meanwhile)
    if not before or not meanwhile:
        return told | {"nothing_measured": 1}
    if not plan.held:
        return told | {"late": sum(lag > LATE + before[-1] + plan.allowance for lag in meanwhile)}
    minute = timedelta(minutes=1)
    each = [
        _told("", lags.between(steady + n * minute, steady + (n + 1) * minute)) for n in range((end - steady) // minute)
    ]
    return told | _told("after", lags.between(*moments[2:])) | {
        "lag_grew": told["lag_meanwhile_p99"] > 2 * told["lag_before_p99"] + plan.allowance,
        "p99_each_minute": [one.get("lag__p99") for one in each],
    }  # fmt: skip


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres, plan, folder))
    must = ("settled_in_time", "locks_before_turn", "locks_after_turn", "week_ready", "next_week_made", "long_ago_done",
            "old_week_kept", "old_week_gone")  # fmt: skip
    unkept = [name for name in must if figures.get(name) is False]
    return figures | {
        "broken": unkept
        + broken(figures, "late", "lag_grew", "nothing_measured", "dump_failed", "workers_died", "stubborn")
    }
