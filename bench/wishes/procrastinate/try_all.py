# Runs the programs of this folder: `PGHOST=… PGDATABASE=… python try_all.py`, with the packages of ../peers.txt.
import asyncio
import subprocess
import sys
from datetime import datetime
from zoneinfo import ZoneInfo

import change
import later
import one_at_once
import psycopg
import retry
import timeout
import transaction
import weekday
import why
from procrastinate.periodic import PeriodicDeferrer
from procrastinate.retry import RetryDecision


async def work(app) -> None:
    await app.run_worker_async(wait=False, install_signal_handlers=False, listen_notify=False)


async def jobs(app) -> list[str]:
    return [f"{job.task_name} {job.status} {job.scheduled_at}" for job in await app.job_manager.list_jobs_async()]


async def empty(app) -> None:
    await app.connector.execute_query_async("truncate procrastinate_jobs cascade")
    await app.connector.execute_query_async("truncate procrastinate_periodic_defers cascade")


async def main() -> None:
    async with weekday.app.open_async() as app:
        await app.schema_manager.apply_schema_async()
        deferrer = PeriodicDeferrer(app.periodic_registry)
        friday = datetime(2027, 1, 8, 3, 0, 1, tzinfo=ZoneInfo("Europe/Berlin"))
        await deferrer.defer_jobs(deferrer.get_previous_tasks(at=friday.timestamp()))
        await work(app)
        print("weekday:", await jobs(app))
    for program in (later, retry, timeout):
        async with program.app.open_async() as app:
            await empty(app)
            await program.ask()
            await work(app)
            print(f"{program.__name__}:", await jobs(app))
    waits = [retry.fetch.retry_strategy.get_retry_decision(exception=OSError(), job=Tried(n)) for n in range(6)]
    print("retry: pauses until", [wait and str(wait.retry_at) for wait in waits])
    assert isinstance(waits[4], RetryDecision)
    assert waits[5] is None
    async with transaction.app.open_async() as app, await psycopg.AsyncConnection.connect(autocommit=True) as mine:
        await empty(app)
        await mine.execute("create table if not exists orders (id int primary key)")
        await mine.execute("truncate orders")
        await transaction.buy(mine, 7)
        try:
            await transaction.buy(mine, 7)
        except psycopg.errors.UniqueViolation:
            print("transaction: one of two,", await jobs(app))
    async with one_at_once.app.open_async() as app:
        await empty(app)
        one_at_once.asyncio = slept = Slept()
        for moment in (60, 120, 180):
            await one_at_once.close_the_books.defer_async(timestamp=moment)
        while slept.times < 3:
            await app.run_worker_async(wait=False, install_signal_handlers=False, concurrency=3)
        print("one_at_once: most at once", slept.most)
        assert slept.most == 1
    async with why.app.open_async() as app:
        await empty(app)
        await why.close_the_books.defer_async(timestamp=60)
        await why.ask()
    print("change:", [one.cron for one in change.app.periodic_registry.periodic_tasks.values()])


class Slept:
    now = most = times = 0

    async def sleep(self, _: float) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.3)
        self.now -= 1
        self.times += 1


class Tried:
    def __init__(self, attempts: int) -> None:
        self.attempts = attempts


asyncio.run(main())
command = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-c",
    "/dev/null",
    "--rootdir",
    ".",
    "-p",
    "no:cacheprovider",
    "tested.py",
]
subprocess.run(command, check=True)
