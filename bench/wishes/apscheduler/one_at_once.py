# One that is due while another runs waits for it: `max_running_jobs` is 1 unless it is set.
import asyncio

from apscheduler import AsyncScheduler
from apscheduler.triggers.interval import IntervalTrigger


async def close_the_books() -> None:
    await asyncio.sleep(90)


async def declare(scheduler: AsyncScheduler) -> None:
    await scheduler.add_schedule(close_the_books, IntervalTrigger(minutes=1), id="close_the_books")
