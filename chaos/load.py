"""Jobs to torment the engine with, and the slots that each must have, worked out here and not by Cronty."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import asyncpg

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
OWNER: Final = "chaos"
EVERY_SLOT: Final[Mapping[str, object]] = {"overlap": "allow", "catch_up": "all", "catch_up_limit": 1000}


@dataclass(frozen=True, slots=True)
class Spec:
    """`count` slots from `first`, `period` apart; `cron` says that they are the minutes of a cron expression."""

    task: str
    first: datetime
    count: int = 1
    period: timedelta = timedelta(seconds=1)
    cron: bool = False
    policy: Mapping[str, object] = field(default_factory=lambda: EVERY_SLOT)
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])

    def slots(self) -> list[datetime]:
        return [self.first + number * self.period for number in range(self.count)]

    def trigger(self) -> Mapping[str, object]:
        if self.cron:
            return {"kind": "cron", "expression": "* * * * *", "zone": "UTC"}
        if self.count == 1:
            return {"kind": "once", "at": self.first.isoformat()}
        return {"kind": "interval", "seconds": self.period.total_seconds(), "anchor": self.first.isoformat()}


def run_id(job_id: int, slot: datetime) -> str:
    return f"run_{job_id}_{(slot - EPOCH) // timedelta(microseconds=1)}"


def expected_runs(specs: Sequence[Spec], first_id: int = 1) -> set[str]:
    return {run_id(number, slot) for number, spec in enumerate(specs, first_id) for slot in spec.slots()}


async def insert(url: str, specs: Sequence[Spec], first_id: int = 1) -> None:
    """Store the jobs in one transaction, numbered from `first_id`, and wake the engines."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("insert into cronty.owners (name) values ($1) on conflict do nothing", OWNER)
            owner: int = await connection.fetchval("select id from cronty.owners where name = $1", OWNER)
            await connection.copy_records_to_table(
                "jobs", schema_name="cronty", records=_jobs(specs, first_id, owner),
                columns=["id", "number", "owner_id", "name", "task", "arguments", "trigger", "zone", "policy", "tags",
                         "max_runs", "created_at", "updated_at"],
            )  # fmt: skip
            await connection.copy_records_to_table(
                "due", schema_name="cronty", records=_due(specs, first_id, owner),
                columns=["job_id", "owner_id", "next_at", "serial", "period", "expression", "zone"],
            )  # fmt: skip
            soonest = min(spec.first for spec in specs)
            await connection.execute("select pg_notify('cronty', $1)", f"due {soonest.timestamp()}")
        await connection.execute("analyze cronty.jobs, cronty.due")
    finally:
        await connection.close()


def _jobs(specs: Sequence[Spec], first_id: int, owner: int) -> Iterable[tuple[object, ...]]:
    now = datetime.now(UTC)
    for number, spec in enumerate(specs, first_id):
        arguments = json.dumps({"args": [], "kwargs": dict(spec.arguments)})
        yield (
            number, number, owner, f"job {number}", spec.task, arguments, json.dumps(spec.trigger()), "UTC",
            json.dumps(dict(spec.policy)), [], spec.count if spec.count > 1 or spec.cron else None, now, now,
        )  # fmt: skip


def _due(specs: Sequence[Spec], first_id: int, owner: int) -> Iterable[tuple[object, ...]]:
    for number, spec in enumerate(specs, first_id):
        recurs = spec.count > 1 and not spec.cron
        period = spec.period // timedelta(microseconds=1) if recurs else None
        cron = ("* * * * *", "UTC") if spec.cron else (None, None)
        yield number, owner, spec.first, spec.policy.get("overlap", "skip") != "allow", period, *cron


async def ask(url: str, question: str, *arguments: object) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(question, *arguments)
    finally:
        await connection.close()


async def until(url: str, condition: str, deadline: float, *arguments: object) -> bool:
    """Wait until a query answers true, through outages; False if it didn't within `deadline` seconds."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + deadline
    connection: asyncpg.Connection | None = None
    try:
        while loop.time() < ends:
            try:
                connection = connection or await asyncpg.connect(url, timeout=5)
                if await connection.fetchval(condition, *arguments, timeout=30):
                    return True
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                connection = None
            await asyncio.sleep(0.2)
        return False
    finally:
        if connection is not None:
            await connection.close()
