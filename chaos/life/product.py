"""What the simulation knows of Cronty's inside: engines, doors, and everything that is luck or time.

Two versions of Cronty share one process here. The newer one knows a policy field that the older doesn't, and its zone
database puts Berlin's clocks elsewhere; `VERSION` says which one the running code belongs to.
"""

# pyright: reportPrivateUsage=false

import asyncio
import logging
import random
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any, Final, Literal

import asyncpg
import orjson

from chaos.life.stage import Stage
from cronty.actions.tasks import PermanentError, Registry, Snooze, current_run
from cronty.engine import claiming, firing, lease, retiming
from cronty.engine.engine import Engine, EngineOptions
from cronty.jobs import policy as policies
from cronty.jobs.action import Action
from cronty.jobs.limits import Limits
from cronty.jobs.result import Err, Ok, Result
from cronty.scheduler import JobChanges, JobRequest, Scheduler
from cronty.scheduler.runs import Runs
from cronty.store import job_store
from cronty.store.database import Database, StoreUnavailable, query
from cronty.store.database import _Connection as PoolConnection
from cronty.store.job_store import JobStore
from cronty.store.migrate import migrate
from cronty.store.run_store import RunStore
from cronty.timing import cron

__all__ = ["AWAY", "Door", "Performed", "PoolConnection", "Worker", "migrate", "statement_name"]

Version = Literal["older", "newer"]
VERSION: Final[ContextVar[Version]] = ContextVar("version", default="older")

AWAY: Final = StoreUnavailable
"""What is raised when the database can't be reached, and it is right to try again."""

NEWER_FIELD: Final = '{"quiet_hours": "22-6"}'
TZDATA: Final = {"older": "2026f", "newer": "2099z"}
MOVED_ZONE: Final = ("Europe/Berlin", "Europe/Moscow")
"""To the newer zone database the clocks of the first are those of the second."""

TABLES: Final = ("runs", "due", "jobs", "attempts", "queue", "workers")
"""What the simulation watches."""


class _Asyncio(ModuleType):
    """asyncio, with sleeps that take no time: they are pauses before a retry, and the gate decides who goes first."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(_seconds: float) -> None:
        await asyncio.sleep(0)


@contextmanager
def simulated(stage: Stage) -> Generator[None]:
    """Cronty with the stage's clock and luck, in two versions, for as long as the block lasts."""
    replaced: list[tuple[Any, str, object]] = []

    def put(module: Any, name: str, value: object) -> None:
        replaced.append((module, name, getattr(module, name)))
        setattr(module, name, value)

    def compile_by_version(text: str, zone: str, *rest: Any) -> object:
        return compiled(text, _zone_rules(zone), *rest)

    luck = random.Random(stage.seed)
    load_policy, compiled = policies.load_policy, cron._compiled
    standing_in: list[tuple[object, object]] = [
        (time.monotonic, lambda: stage.mono),
        (random, luck),
        (asyncio, _Asyncio("asyncio")),
        (load_policy, _versioned_policy),
    ]
    for module in [one for name, one in sys.modules.items() if name.startswith("cronty.")]:
        for name, value in list(vars(module).items()):
            for real, stand_in in standing_in:
                if value is real and module is not policies:
                    put(module, name, stand_in)
    for module in (retiming, lease, job_store):
        put(module, "tzdata_version", lambda: TZDATA[VERSION.get()])
    put(cron, "_compiled", compile_by_version)
    for module in (firing, claiming):
        put(module, "PATIENCE", 0)
        put(module, "BATCH", stage.settings.batch)
    put(asyncpg.Pool, "_schedule_min_size_maintenance", _connect_later)
    for name in ("_policy", "_cron"):  # remembered across versions they would be those of whoever asked first
        put(firing, name, getattr(firing, name).__wrapped__)
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)
        for module, name, value in reversed(replaced):
            setattr(module, name, value)


def _connect_later(_pool: object) -> None:
    """When a statement needs it; asyncpg would do it in the background, whenever it likes."""


def _zone_rules(name: str) -> str:
    return MOVED_ZONE[1] if name == MOVED_ZONE[0] and VERSION.get() == "newer" else name


def _versioned_policy(stored: str) -> policies.Policy:
    if VERSION.get() == "newer":
        known = orjson.loads(stored)
        stored = orjson.dumps(
            {key: value for key, value in known.items() if key not in orjson.loads(NEWER_FIELD)}
        ).decode()
    return policies.load_policy(stored)


@cache
def _names() -> dict[str, str]:
    queries = files("cronty.store") / "queries"
    found = [one.name.removesuffix(".sql") for one in queries.iterdir() if one.name.endswith(".sql")]
    return {query(name): name for name in found}


def statement_name(sql: str) -> str:
    """What a statement is called in the trace."""
    return _names().get(sql) or " ".join(sql.split())[:40]


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

    def __init__(self, database: Database, engine: Engine) -> None:
        self.database, self.engine = database, engine

    @staticmethod
    async def open(url: str, stage: Stage, connection_class: type[PoolConnection]) -> Database:
        return await Database(url, clock=stage.now, hot=True, connection_class=connection_class).open()

    @classmethod
    async def enlist(
        cls, database: Database, stage: Stage, lease: float, perform: Perform, wake: Callable[[str], None]
    ) -> "Worker":
        registry = Registry()
        for name in TASKS:
            registry.add(_task(stage, perform), name)
        limits = Limits(runs_per_hour=stage.settings.runs_per_hour)
        options = EngineOptions(concurrency=stage.settings.concurrency, lease=lease, limits=limits)
        worker = cls(database, Engine(database, registry, options))
        await worker.engine.enlist()
        worker.engine._wakes.update({name: _Wake(wake, name) for name in worker.duties()})
        return worker

    def duties(self) -> dict[str, Callable[[], Awaitable[float]]]:
        engine = self.engine
        return {
            "fire": engine._fire,
            "fire 2": engine._fire_more,
            "claim": engine._claim,
            "settle": engine.settling.step,
            "beat": engine.lease.beat,
            "rescue": engine.rescuing.step,
            "retime": engine.retiming.step,
            "prune": engine._prune,
        }

    @property
    def id(self) -> int:
        return self.engine.worker

    def holds(self) -> set[tuple[int, datetime, int]]:
        """What it has claimed and not settled: job, slot and attempt."""
        held = (*self.engine.working.known(), *self.engine.settling.held)
        return {(one.job_id, one.slot, one.number) for one in held}

    def hear(self) -> None:
        """A notification came in."""
        self.engine._hear("listening")

    def close(self) -> None:
        self.engine.working.close()


class _Wake(asyncio.Event):
    def __init__(self, wake: Callable[[str], None], duty: str) -> None:
        super().__init__()
        self._tell, self._duty = wake, duty

    def set(self) -> None:
        self._tell(self._duty)


TASKS: Final = ("alpha", "beta", "gamma")


def _task(stage: Stage, perform: Perform) -> Callable[[str], Awaitable[str]]:
    async def task(job: str) -> str:
        run = current_run()
        epoch = getattr(run, "epoch", 0)
        outcome = await perform(Performed(job, run.scheduled_for, run.attempt, epoch))
        if outcome == "snoozed":
            raise Snooze(timedelta(seconds=5 * stage.scale))
        if outcome == "failed":
            raise ValueError("no luck") if run.attempt % 2 else PermanentError("no luck")
        return "fine"

    return task


# -- doors ------------------------------------------------------------------------------------------------------


class Door:
    """What one owner may ask, with a pool of its own."""

    def __init__(self, owner: str, database: Database) -> None:
        self._owner = owner
        self.database = database
        self._door = Scheduler(JobStore(database))
        self._runs = Runs(RunStore(database), self._door)

    @classmethod
    async def open(cls, owner: str, url: str, stage: Stage, connection_class: type[PoolConnection]) -> "Door":
        return cls(owner, await Database(url, clock=stage.now, connection_class=connection_class).open())

    async def schedule(
        self,
        name: str,
        task: str,
        kind: str,
        rule: dict[str, object],
        policy: dict[str, object],
        starts_at: datetime | None,
    ) -> bool:
        request = JobRequest(
            name, Action(task, (name,)), kind, rule, timezone=MOVED_ZONE[0], policy=policy, starts_at=starts_at
        )
        return _done(await self._door.schedule(self._owner, request))

    async def change(self, what: str, handle: int) -> bool:
        """Pause, resume, cancel, delete or run_now; whether it was done."""
        return _done(await getattr(self._door, what)(self._owner, handle))

    async def edit(self, handle: int, seconds: int) -> bool:
        changes = JobChanges(trigger_type="interval", trigger_config={"seconds": seconds})
        return _done(await self._door.edit(self._owner, handle, changes))

    async def look(self) -> None:
        await self._door.list_jobs(self._owner)

    async def failed(self) -> list[tuple[str, str, datetime]]:
        """Job, run id and slot of what failed for good."""
        found = await self._runs.failed(self._owner)
        return (
            [(one.name, one.run.run_id, one.run.scheduled_for) for one in found.value] if isinstance(found, Ok) else []
        )

    async def redrive(self, run_ids: Sequence[str]) -> bool:
        return _done(await self._runs.redrive(self._owner, run_ids))


def _done(result: Result[Any]) -> bool:
    return not isinstance(result, Err)


def handle_of(job: dict[str, Any]) -> int:
    """What a door calls the job of a row of `jobs`."""
    return job["id"]


async def idle_limit(database: Database) -> float:
    """Seconds after which PostgreSQL ends a session of this pool that does nothing inside a transaction."""
    found = await database.pool.fetchval("select setting::float8 / 1000 from pg_settings where name = $1", _IDLE)
    return float(found)


_IDLE: Final = "idle_in_transaction_session_timeout"


def holders(database: Database) -> list[asyncpg.Connection]:
    """The pool's open connections."""
    if database._pool is None:
        return []
    found = [holder._con for holder in database._pool._holders]
    return [one for one in found if one is not None and not one.is_closed()]
