from apscheduler import AsyncScheduler, JobOutcome, JobReleased
from apscheduler.triggers.cron import CronTrigger


async def close_the_books() -> None:
    print("closed")


def tell(event: JobReleased) -> None:
    if event.outcome is not JobOutcome.success:
        print(event.scheduled_start, event.outcome, event.exception_message)


async def declare(scheduler: AsyncScheduler) -> None:
    scheduler.subscribe(tell, JobReleased)
    when = CronTrigger(day_of_week="mon-fri", hour=3, minute=0, timezone="Europe/Berlin")
    await scheduler.add_schedule(close_the_books, when, id="close_the_books", misfire_grace_time=60)
