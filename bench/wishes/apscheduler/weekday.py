from apscheduler import AsyncScheduler
from apscheduler.triggers.cron import CronTrigger


async def close_the_books() -> None:
    print("closed")


async def declare(scheduler: AsyncScheduler) -> None:
    when = CronTrigger(day_of_week="mon-fri", hour=3, minute=0, timezone="Europe/Berlin")
    await scheduler.add_schedule(close_the_books, when, id="close_the_books")
