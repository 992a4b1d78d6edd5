"""A year of an installation that keeps eight weeks: every table stops growing.

Every week makes the same jobs: one-offs, intervals and crons that end, prompts that nobody reads, jobs that are
cancelled and deleted, and a few that never end; keys and a channel that are made and end; a worker that dies. The clock
is in the hand; an engine fires, rescues, alerts, seals and prunes. A line for each week says how many rows every table
has, and how many bytes all of them take.
"""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import asyncpg

from chaos.postgres import Postgres
from chaos.verdict import Figures
from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob, TriggerType
from cronty.contract.result import Err
from cronty.engine.engine import Engine, EngineOptions
from cronty.jobs.action import Action
from cronty.scheduler import Scheduler
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Database
from cronty.store.job_store import JobStore
from cronty.store.key_store import KeyStore
from cronty.store.migrate import migrate
from cronty.store.sealing import KEY_BYTES, Sealer

START: Final = datetime(2027, 3, 1, tzinfo=UTC)
KEPT_WEEKS: Final = 8
FULL: Final = KEPT_WEEKS + 1
"""From this week on nothing may grow."""

MAY_GROW: Final = {
    "audit": "the trail is kept until it is archived (`cronty audit archive`)",
    "audit_months": "a row for each month of the trail, as long as it is kept",
    "audit_checkpoints": "a row for each month of the trail, as long as it is kept",
    "dropped_weeks": "a date for each week: a run of long ago may still be asked whether its successor is gone",
}
"""Tables that grow with time, and why they may."""

DAY: Final = timedelta(days=1)
SLACK: Final = 1.02
OWNER: Final = "ann"


@dataclass(frozen=True, slots=True)
class Plan:
    """`jobs` of each kind are made every week."""

    weeks: int = 52
    jobs: int = 20


class HandClock:
    """Time that moves only when it is moved."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        return self.moment


class Year:
    """One door, one engine, and what is looked at every week."""

    def __init__(self, clock: HandClock, database: Database, engine: Engine, sql: asyncpg.Connection) -> None:
        self._clock = clock
        self._door = Scheduler(JobStore(database))
        self._keys = KeyStore(database)
        self._channels = ChannelStore(database, Sealer([bytes(KEY_BYTES)]))
        self._engine = engine
        self._sql = sql

    async def week(self, jobs: int) -> dict[str, int]:
        """A week goes by: how many rows there are at its end, and how many bytes."""
        await self._make(jobs)
        await self._make_keys_and_channel(jobs)
        await self._die()
        for _ in range(7):
            self._clock.moment += DAY
            await self._engine.lease.beat()
            await self._engine.store.make_partitions()
            await self._fire()
            await self._engine.alerting.step()
        await self._rescue()
        while await self._engine.sealing.step() == 0:
            pass
        await self._engine._prune()  # pyright: ignore[reportPrivateUsage]
        await self._sql.execute("vacuum")
        tables = [
            row[0]
            for row in await self._sql.fetch(
                "select relname from pg_class where relkind in ('r', 'p') and not relispartition"
                " and relnamespace = 'cronty'::regnamespace order by relname"
            )
        ]
        rows = {table: await self._sql.fetchval(f"select count(*) from cronty.{table}") for table in tables}
        partitions = "select count(*) from pg_inherits where inhparent = 'cronty.runs'::regclass"
        size = (
            "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' and relname <> 'audit'"
            " and relnamespace = 'cronty'::regnamespace"
        )
        return {**rows, "weeks": await self._sql.fetchval(partitions), "bytes": int(await self._sql.fetchval(size))}

    async def forever(self) -> None:
        """Jobs that never end: one that is run, one whose prompts nobody reads, one that fails, one that is paused."""
        await self._add("daily", "note", "interval", {"days": 1})
        await self._add("unread", "prompt", "interval", {"days": 1}, overlap="allow")
        await self._add("failing", "fail", "interval", {"days": 1}, attempts=2, pause_after=0, overlap="allow")
        await self._door.pause(local_caller(OWNER), await self._add("paused", "note", "interval", {"days": 1}))

    async def _make(self, jobs: int) -> None:
        soon = {"run_at": self._clock.moment + timedelta(hours=30)}
        for _ in range(jobs):
            await self._add("once", "note", "once", soon)
            await self._add("three times", "note", "interval", {"days": 1}, max_runs=3)
            await self._add("three weeks", "note", "cron", {"expression": "0 9 * * 1-5"}, weeks=3)
            await self._add("nobody reads it", "prompt", "once", soon)
            await self._add("fails", "fail", "once", soon, alert="ann-phone")
            await self._door.cancel(local_caller(OWNER), await self._add("cancelled", "note", "interval", {"days": 1}))
            await self._door.delete(local_caller(OWNER), await self._add("deleted", "note", "interval", {"days": 1}))

    async def _make_keys_and_channel(self, count: int) -> None:
        """Keys that are revoked or expire, and a channel that is removed: the same one every week."""
        caller, soon = local_caller(OWNER), self._clock.moment + DAY
        for _ in range(count):
            await self._keys.add(caller, "expires", b"", ["read"], None, soon)
            made = await self._keys.add(caller, "revoked", b"", ["read"], None, None)
            assert isinstance(made, tuple)
            await self._keys.revoke(caller, made[1])
        await self._channels.save(caller, "phone", "ntfy://ntfy.sh/phone", "ntfy", "ntfy.sh")
        await self._channels.remove(caller, "phone")

    async def _die(self) -> None:
        """A worker that registers and is never heard of again."""
        await self._engine.store.register_worker("gone", "0", "0", 1, 30.0)

    async def _rescue(self) -> None:
        """Beat for long enough to strike off the dead."""
        for _ in range(8):
            await self._engine.lease.beat()
            self._clock.moment += timedelta(seconds=10)
        await self._engine.rescuing.step()

    async def _add(
        self, name: str, task: str, kind: TriggerType, config: Mapping[str, object], max_runs: int | None = None,
        weeks: int = 0,
        **policy: object,
    ) -> int:  # fmt: skip
        action = Action(task, (), {"prompt": "Anything new?"} if task == "prompt" else {})
        ends_at = self._clock.moment + timedelta(weeks=weeks) if weeks else None
        request = ScheduleJob(
            name,
            action.task,
            kind,
            config,
            args=action.args,
            kwargs=action.kwargs,
            policy=policy,
            max_runs=max_runs,
            ends_at=ends_at,
        )
        made = await self._door.schedule(local_caller(OWNER), request)
        if isinstance(made, Err):
            raise AssertionError(made)
        return made.value.number

    async def _fire(self) -> None:
        engine, more = self._engine, True
        while more:
            more = await engine.firing.step(engine.worker) < 0.1
            while engine.working.in_flight:
                await engine.settling.step()
                await asyncio.sleep(0.001)
        while await engine.claiming.step(engine.worker) == 0:
            while engine.working.in_flight:
                await engine.settling.step()
                await asyncio.sleep(0.001)


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Year]:
    """A year that is about to begin, in a database that is migrated."""
    clock = HandClock()
    registry = Registry()
    registry.add(lambda: None, "note")
    registry.add(_fail, "fail")
    registry.add(_notify, "notify")
    database = await Database(url, clock=clock).open()
    hot = await Database(url, clock=clock, hot=True).open()
    sql = await asyncpg.connect(url)
    engine = Engine(hot, registry, EngineOptions(keep_days=7 * KEPT_WEEKS))
    try:
        await engine.enlist()
        year = Year(clock, database, engine, sql)
        await year.forever()
        yield year
    finally:
        engine.working.close()
        await sql.close()
        await hot.close()
        await database.close()


def _fail() -> None:
    raise ValueError("no luck")


def _notify(message: str, topic: str, title: str) -> None: ...


async def live(url: str, plan: Plan) -> Figures:
    """Let the weeks go by; `broken` says what still grows when history is full."""
    told: list[dict[str, int]] = []
    await migrate(url)
    async with opened(url) as year:
        for number in range(1, plan.weeks + 1):
            told.append({"week": number, **await year.week(plan.jobs)})
            print(json.dumps(told[-1]), file=sys.stderr)
    full, later = told[FULL - 1 : FULL + 1], told[FULL + 1 :]
    broken = [
        f"{table} grows: {most} rows after week {FULL}, {at_last} later"
        for table in told[-1].keys() - {"week", "bytes"} - MAY_GROW.keys()
        if (at_last := max(week[table] for week in later)) > SLACK * (most := max(week[table] for week in full))
    ]
    return {"scenario": "year", "weeks": plan.weeks, "week_9": told[FULL - 1], "last": told[-1], "broken": broken}


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names what still grows."""
    postgres = Postgres(fsync="off", autovacuum="off")
    tasks = logging.getLogger("cronty.tasks")
    level = tasks.level
    tasks.setLevel(logging.ERROR)  # what is to fail needn't be told
    try:
        postgres.start()
        return asyncio.run(live(postgres.url, plan))
    finally:
        tasks.setLevel(level)
        postgres.close()
