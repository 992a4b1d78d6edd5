"""Programs enqueue runs in transactions of their own. Half of them are rolled back, some are cut off while they commit,
and workers are killed meanwhile: exactly the runs whose transaction was committed are performed."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncpg
import psycopg
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from chaos.fleet import Fleet, fleet
from chaos.load import run_id, until
from chaos.postgres import Postgres, own_postgres
from chaos.verdict import Figures, broken, examine
from cronty import Cronty
from cronty.jobs.run import read_receipt
from cronty.store.migrate import migrate

CUT: Final = 0.02
"""How many of the commits are cut off: whether they took place only the database knows."""

LONG: Final = 0.02
LONG_FOR: Final = 1.5
"""How many transactions stay open long after what they have enqueued is due, and for how many seconds."""

ORDERS: Final = "create table orders (number bigint primary key, job bigint not null, slot timestamptz not null)"
ORDER: Final = "insert into orders (number, job, slot) values ({0}1, {0}2, {0}3)"
SETTLED: Final = """
select not exists (select from cronty.due where next_at is not null)
  and not exists (select from cronty.runs where finished_at is null)"""


@dataclass(frozen=True, slots=True)
class Plan:
    """`programs` is how many transactions are open at once; `patience` is in seconds, after the last of them."""

    runs: int = 10_000
    programs: int = 8
    workers: int = 4
    kill_every: float = 1.0
    patience: float = 60.0
    lease: float = 5.0
    seed: int = 1


@dataclass(slots=True)
class Shop:
    """Takes orders: each is a row of its own table and a run, in one transaction."""

    cronty: Cronty
    url: str
    chance: random.Random
    engine: AsyncEngine
    ends: Counter[str] = field(default_factory=Counter[str])

    async def take(self, numbers: list[int]) -> None:
        """One program: order after order, with each driver in turn."""
        connection = await asyncpg.connect(self.url)
        other = await psycopg.AsyncConnection.connect(self.url)
        try:
            while numbers:
                number = numbers.pop()
                end = self._end()
                if end == "cut":
                    connection = await self._cut_off(connection, number)
                else:
                    with suppress(_ChangedMind):
                        await self._order(number, end == "committed", connection, other)
                self.ends[end] += 1
        finally:
            await connection.close()
            await other.close()

    async def _order(
        self, number: int, keep: bool, connection: asyncpg.Connection, other: psycopg.AsyncConnection
    ) -> None:
        match number % 3:
            case 0:
                await self._by_asyncpg(connection, number, keep)
            case 1:
                await self._by_psycopg(other, number, keep)
            case _:
                await self._by_sqlalchemy(number, keep)

    def _end(self) -> str:
        if self.chance.random() < 0.5:
            return "rolled_back"
        return "cut" if self.chance.random() < CUT else "committed"

    async def _enqueue(self, connection: object, number: int, insert: Callable[..., Awaitable[object]]) -> None:
        task = self.cronty.named("patient").options(connection=connection, name=f"order {number}")
        run = await task.enqueue(round(self.chance.random() ** 2 * 0.1, 3))
        found = read_receipt(run.run_id)
        assert found is not None
        await insert(number, found[0], found[1])
        if self.chance.random() < LONG:
            await asyncio.sleep(LONG_FOR)

    async def _by_asyncpg(self, connection: asyncpg.Connection, number: int, keep: bool) -> None:
        async with connection.transaction():
            await self._enqueue(connection, number, lambda *row: connection.execute(ORDER.format("$"), *row))
            _decide(keep)

    async def _by_psycopg(self, connection: psycopg.AsyncConnection, number: int, keep: bool) -> None:
        async with connection.transaction():
            await self._enqueue(
                connection, number,
                lambda *row: connection.execute("insert into orders (number, job, slot) values (%s, %s, %s)", row),
            )  # fmt: skip
            _decide(keep)

    async def _by_sqlalchemy(self, number: int, keep: bool) -> None:
        async with self.engine.begin() as connection:
            await self._enqueue(
                connection, number, lambda *row: connection.exec_driver_sql(ORDER.format("$"), row)
            )  # fmt: skip
            _decide(keep)

    async def _cut_off(self, connection: asyncpg.Connection, number: int) -> asyncpg.Connection:
        """Send the commit and hang up: it takes place, or it doesn't. The next connection."""
        transaction = connection.transaction()
        await transaction.start()
        await self._enqueue(connection, number, lambda *row: connection.execute(ORDER.format("$"), *row))
        committing = asyncio.create_task(transaction.commit())
        if self.chance.random() < 0.5:
            await asyncio.sleep(self.chance.random() * 0.002)  # else it isn't even sent
        connection.terminate()
        with suppress(Exception):
            await committing
        return await asyncpg.connect(self.url)


class _ChangedMind(Exception):
    """Rolls a transaction back."""


def _decide(keep: bool) -> None:
    if not keep:
        raise _ChangedMind


async def torment(workers: Fleet, plan: Plan, chance: random.Random, over: asyncio.Event) -> None:
    """kill -9 a worker every so often; whatever is gone is replaced."""
    next_kill = time.monotonic() + plan.kill_every
    while not over.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 0.1)
        if plan.kill_every > 0 and time.monotonic() >= next_kill:
            workers.kill_one(chance)
            next_kill += plan.kill_every
        workers.replace()


async def committed(url: str) -> tuple[set[str], int, int]:
    """The runs of the orders that are there; orders without a job, and jobs without an order."""
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("select j.id, o.slot from orders o left join cronty.jobs j on j.number = o.job")
        alone = "select count(*) from cronty.jobs j where not exists (select from orders o where o.job = j.number)"
        without_order: int = await connection.fetchval(alone)
    finally:
        await connection.close()
    runs = {run_id(row["id"], row["slot"]) for row in rows if row["id"] is not None}
    return runs, sum(row["id"] is None for row in rows), without_order


async def drive(postgres: Postgres, plan: Plan, folder: Path) -> Figures:
    chance = random.Random(plan.seed)
    await migrate(postgres.url)
    setup = await asyncpg.connect(postgres.url)
    await setup.execute(ORDERS)
    await setup.close()
    with fleet(postgres.url, folder, lease=plan.lease) as workers:
        workers.start(plan.workers)
        await workers.ready()
        engine = create_async_engine(postgres.url.replace("postgresql:", "postgresql+asyncpg:", 1))
        began = time.monotonic()
        async with Cronty(postgres.url, data_dir=folder, run_jobs=False) as cronty:
            shop, over = Shop(cronty, postgres.url, chance, engine), asyncio.Event()
            tormenting = asyncio.create_task(torment(workers, plan, chance, over))
            numbers = list(range(plan.runs))
            await asyncio.gather(*(shop.take(numbers) for _ in range(plan.programs)))
            took = time.monotonic() - began
            over.set()
            await tormenting
            settled = await until(postgres.url, SETTLED, plan.patience)
        await engine.dispose()
        stubborn = workers.retire()
        expected, without_job, without_order = await committed(postgres.url)
        return {
            "scenario": "enqueue", "transactions": plan.runs, **shop.ends, "took": round(took, 1),
            "settled_in_time": settled, "kills": workers.killed, "workers_died": workers.died, "stubborn": stubborn,
            "orders_without_job": without_job, "jobs_without_order": without_order,
            **await examine(postgres.url, folder, expected),
        }  # fmt: skip


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres, plan, folder))
    return figures | {"broken": broken(figures, "orders_without_job", "jobs_without_order")}
