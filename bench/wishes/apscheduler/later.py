from datetime import UTC, datetime, timedelta

from apscheduler import AsyncScheduler
from apscheduler.triggers.date import DateTrigger


async def remind(name: str) -> None:
    print("reminded", name)


async def ask(scheduler: AsyncScheduler) -> None:
    when = DateTrigger(datetime.now(UTC) + timedelta(hours=2))
    await scheduler.add_schedule(remind, when, args=["ann"])
