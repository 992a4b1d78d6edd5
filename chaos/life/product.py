"""What the simulation knows of Cronty's inside: engines, doors, and their connections.

Two versions of Cronty share one process here. The newer one knows a policy field that the older doesn't, and its zone
database puts Berlin's clocks elsewhere; `VERSION` says which one the running code belongs to.
"""

# pyright: reportPrivateUsage=false

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, cast

import asyncpg

from chaos.life.stage import Stage
from cronty.actions.tasks import PermanentError, Registry, Snooze, current_run
from cronty.contract.caller import local_caller
from cronty.contract.requests import BackfillJob, EditJob, ScheduleJob, TriggerType
from cronty.contract.result import Err, Ok, Result
from cronty.engine.engine import Engine, EngineOptions
from cronty.jobs.limits import Limits
from cronty.scheduler import Scheduler
from cronty.scheduler.backfills import Backfills
from cronty.scheduler.runs import Runs
from cronty.store.database import Database, StoreUnavailable, query
from cronty.store.job_store import JobStore
from cronty.store.migrate import migrate
from cronty.store.numbers import Numbers
from cronty.store.run_store import RunStore

__all__ = ["AWAY", "Door", "Patience", "Performed", "WatchedDatabase", "Worker", "migrate", "statement_name"]

Version = Literal["older", "newer"]
VERSION: Final[ContextVar[Version]] = ContextVar("version", default="older")

AWAY: Final = StoreUnavailable
"""What is raised when the database can't be reached, and it is right to try again."""

NEWER_FIELD: Final = '{"quiet_hours": "22-6"}'
TZDATA: Final = {"older": "2026f", "newer": "2099z"}
MOVED_ZONE: Final = ("Europe/Berlin", "Europe/Moscow")
"""To the newer zone database the clocks of the first are those of the second."""

KEEP_DAYS: Final = 30.0

TABLES: Final = ("runs", "due", "jobs", "attempts", "queue", "workers", "stop_requests")
"""What the simulation watches."""


_STARTS: Final = re.compile(r"(\s*--[^\n]*\n)*\s*(with( recursive)?\b( acting as \(select \$\d+::[\w.]+\),?)?\s*)?")


@cache
def _names() -> dict[str, str]:
    queries = files("cronty.store") / "queries"
    found = [one.name.removesuffix(".sql") for one in queries.iterdir() if one.name.endswith(".sql")]
    return {_without_start(query(name)): name for name in found}


def _without_start(sql: str) -> str:
    """A statement behind the wall begins differently, and goes on alike."""
    return _STARTS.sub("", sql, count=1)


def statement_name(sql: str) -> str:
    """What a statement is called in the trace."""
    return _names().get(_without_start(sql)) or " ".join(sql.split())[:40]


# -- connections ------------------------------------------------------------------------------------------------


class Patience(NamedTuple):
    """Seconds that PostgreSQL bears with a session that does nothing in a transaction, waits for a lock, or works."""

    idle: float
    waiting: float
    working: float


type Connect = Callable[[Mapping[str, str]], Awaitable[object]]
"""Opens something that does what an asyncpg connection does, with these settings."""


class WatchedDatabase(Database):
    """Its connections are of the simulation's class, and no limit on them is by real time: the stage keeps them."""

    def __init__(self, url: str, stage: Stage, connect: Connect, *, hot: bool) -> None:
        super().__init__(url, clock=stage.now, hot=hot)
        self._connect_with = connect
        limits = {name: float(self._settings.pop(name, "0s").removesuffix("s")) * stage.scale for name in _LIMITS}
        self.patience = Patience(*(limits[name] for name in _LIMITS))

    async def _connect(self) -> asyncpg.Connection:
        return cast("asyncpg.Connection", await self._connect_with(self._settings))

    def connections(self) -> list[asyncpg.Connection]:
        """Those that are open."""
        pool = self._pool
        return [] if pool is None else [one for one in (*pool._idle, *pool._lent) if not one.is_closed()]

    def drop(self) -> None:
        for connection in self.connections():
            connection.terminate()


_LIMITS: Final = ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout")


# -- engines ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Performed:
    """One start of a task, as the task itself sees it: what it may tell the outside to recognize a repeat."""

    job: str
    slot: datetime
    attempt: int
    epoch: int


type Perform = Callable[[Performed], Awaitable[Literal["ok", "failed", "snoozed"]]]


class Worker:
    """An engine, opened and enlisted; its duties are called step by step."""

    def __init__(self, database: WatchedDatabase, engine: Engine) -> None:
        self.database, self.engine = database, engine

    @classmethod
    async def enlist(
        cls, database: WatchedDatabase, stage: Stage, lease: float, perform: Perform, wake: Callable[[str], None]
    ) -> "Worker":
        registry = Registry()
        for name in TASKS:
            registry.add(_task(stage, perform), name, concurrency=LIMITED.get(name))
        limits = Limits(runs_per_hour=stage.settings.runs_per_hour)
        options = EngineOptions(concurrency=stage.settings.concurrency, lease=lease, keep_days=KEEP_DAYS, limits=limits)
        worker = cls(database, Engine(database, registry, options))
        await worker.engine.enlist()
        worker.engine._wakes.update({name: _Wake(wake, name) for name in worker.duties()})
        return worker

    def duties(self) -> dict[str, Callable[[], Awaitable[float]]]:
        engine = self.engine
        return {
            "fire": engine._fire,
            "fire 2": engine._fire_more,
            "look": engine.firing.look_everywhere,
            "claim": engine._claim,
            "limits": engine._limits,
            "settle": engine.settling.step,
            "beat": engine._beat,
            "rescue": engine.rescuing.step,
            "retime": engine.retiming.step,
            "prune": engine._prune,
            "settings": engine._settings,
            "seal": engine.sealing.step,
            "alert": engine.alerting.step,
        }

    @property
    def id(self) -> int:
        return self.engine.worker

    def holds(self) -> set[tuple[int, datetime, int]]:
        """What it has claimed and not settled: job, slot and attempt."""
        held = (*self.engine.working.known(), *self.engine.settling.held)
        return {(one.job_id, one.slot, one.number) for one in held}

    def hear(self, message: str) -> None:
        """A notification came in; those to stop something name the worker."""
        self.engine._hear(f"{message} {self.id}" if message == "stop" else message)

    def close(self) -> None:
        """Nothing goes on in it, and nothing that stands in line is begun."""
        working = self.engine.working
        working.interrupt(working.known())
        working.close()


class _Wake(asyncio.Event):
    def __init__(self, wake: Callable[[str], None], duty: str) -> None:
        super().__init__()
        self._tell, self._duty = wake, duty

    def set(self) -> None:
        self._tell(self._duty)


TASKS: Final = ("alpha", "beta", "gamma")
LIMITED: Final = {"gamma": 2}
"""How many runs of a task all workers together may have under way."""


def _task(stage: Stage, perform: Perform) -> Callable[[str], Awaitable[str]]:
    async def task(job: str) -> str:
        run = current_run()
        outcome = await perform(Performed(job, run.scheduled_for, run.attempt, run.epoch))
        if outcome == "snoozed":
            raise Snooze(timedelta(seconds=5 * stage.scale))
        if outcome == "failed":
            raise ValueError("no luck") if run.attempt % 2 else PermanentError("no luck")
        return "fine"

    return task


# -- doors ------------------------------------------------------------------------------------------------------


class Door:
    """What one owner may ask, with a pool of its own."""

    def __init__(self, owner: str, database: WatchedDatabase, stage: Stage) -> None:
        self._owner = owner
        self.database = database
        store = JobStore(database)
        store.new_jobs._numbers = Numbers(database, lambda: stage.mono)
        self._door = Scheduler(store)
        self._runs = Runs(RunStore(database), self._door)
        self._backfills = Backfills(store, self._door.allowance, timedelta(days=KEEP_DAYS))

    @classmethod
    async def open(cls, owner: str, url: str, stage: Stage, connect: Connect) -> "Door":
        database = WatchedDatabase(url, stage, connect, hot=False)
        return cls(owner, await database.open(), stage)

    async def schedule(
        self,
        name: str,
        task: str,
        kind: TriggerType,
        rule: dict[str, object],
        policy: dict[str, object],
        starts_at: datetime | None,
    ) -> bool:
        request = ScheduleJob(
            name, task, kind, rule, args=(name,), timezone=MOVED_ZONE[0], policy=policy, starts_at=starts_at
        )
        return _done(await self._door.schedule(local_caller(self._owner), request))

    async def change(self, what: str, handle: int) -> bool:
        """Pause, resume, cancel, delete or run_now; whether it was done. A job that has ended isn't cancelled any more:
        the answer says so, and its failed runs can still be tried again."""
        answer = await getattr(self._door, what)(local_caller(self._owner), handle)
        return _done(answer) and (what != "cancel" or answer.value.state == "cancelled")

    async def edit(self, handle: int, seconds: int) -> bool:
        changes = EditJob(str(handle), trigger_type="interval", trigger_config={"seconds": seconds})
        return _done(await self._door.edit(local_caller(self._owner), changes))

    async def look(self) -> None:
        await self._door.list_jobs(local_caller(self._owner))

    async def failed(self) -> list[tuple[str, str, datetime]]:
        """Job, run id and slot of what failed for good."""
        found = await self._runs.failed(local_caller(self._owner))
        return (
            [(one.name, one.run.run_id, one.run.scheduled_for) for one in found.value] if isinstance(found, Ok) else []
        )

    async def redrive(self, run_ids: Sequence[str]) -> bool:
        return _done(await self._runs.redrive(local_caller(self._owner), run_ids))

    async def backfill(self, handle: int, since: datetime, until: datetime) -> bool:
        request = BackfillJob(str(handle), since, until, dry_run=False)
        return _done(await self._backfills.backfill(local_caller(self._owner), request))


def _done(result: Result[Any]) -> bool:
    return not isinstance(result, Err)


def handle_of(job: dict[str, Any]) -> int:
    """What a door calls the job of a row of `jobs`."""
    return job["number"]
