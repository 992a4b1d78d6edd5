# Runs the programs of this folder: `SQLALCHEMY_URL=postgresql+psycopg://… python try_all.py`, with ../peers.txt.
import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import change
import five_at_once
import later
import one_at_once
import retry
import timeout
import weekday
import why
from apscheduler import AsyncScheduler, JobReleased
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.eventbrokers.psycopg import PsycopgEventBroker
from apscheduler.triggers.date import DateTrigger
from sqlalchemy.ext.asyncio import create_async_engine
from tenacity import wait_none

URL = os.environ["SQLALCHEMY_URL"]


class Slept:
    now = most = 0

    async def sleep(self, _: float) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(1)
        self.now -= 1


async def released(scheduler: AsyncScheduler, ask) -> JobReleased:
    ended = asyncio.Queue()
    scheduler.subscribe(ended.put, JobReleased)
    await ask(scheduler)
    return await asyncio.wait_for(ended.get(), 60)


async def main() -> None:
    engine = create_async_engine(URL)
    store, broker = SQLAlchemyDataStore(engine), PsycopgEventBroker.from_async_sqla_engine(engine)
    async with AsyncScheduler(store, broker) as scheduler:
        await weekday.declare(scheduler)
        print("weekday:", (await scheduler.get_schedule("close_the_books")).next_fire_time)
        await later.ask(scheduler)
        print("later:", [str(one.next_fire_time) for one in await scheduler.get_schedules()])
        await change.declare(scheduler)
        print("change:", [(one.id, str(one.next_fire_time)) for one in await scheduler.get_schedules()])
        await scheduler.remove_schedule("close_the_books")

        await one_at_once.declare(scheduler)
        task = next(task for task in await scheduler.get_tasks() if task.id.startswith("one_at_once"))
        assert task.max_running_jobs == 1
        running = most = 0

        async def count() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.2)
            running -= 1

        await scheduler.configure_task("count", func=count)
        await scheduler.remove_schedule("close_the_books")
        await scheduler.start_in_background()
        counted = asyncio.Queue()
        with scheduler.subscribe(counted.put, JobReleased):
            for _ in range(4):
                await scheduler.add_job("count")
            for _ in range(4):
                await asyncio.wait_for(counted.get(), 60)
        print("one_at_once: most at once", most)
        assert most == 1

        five_at_once.asyncio = fetched = Slept()
        with scheduler.subscribe(counted.put, JobReleased):
            await five_at_once.ask(scheduler)
            for _ in range(20):
                await asyncio.wait_for(counted.get(), 60)
        print("five_at_once: most at once", fetched.most)
        assert fetched.most == 5

        retry.fetch.retry.wait = wait_none()
        ended = await released(scheduler, retry.ask)
        print("retry: attempts", retry.fetch.statistics["attempt_number"], ended.outcome)
        print("timeout:", (await released(scheduler, timeout.ask)).exception_type)

        why.CronTrigger = lambda **_: DateTrigger(datetime.now(UTC) - timedelta(hours=1))
        print("why: (what it tells)")
        await released(scheduler, why.declare)


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
