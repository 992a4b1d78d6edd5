# It was 3:00, and there was one more schedule.
from apscheduler import AsyncScheduler, ConflictPolicy
from apscheduler.triggers.cron import CronTrigger


async def close_the_books() -> None:
    print("closed")


SCHEDULES = {
    "close_the_books": (
        close_the_books,
        CronTrigger(day_of_week="mon-fri", hour=4, minute=0, timezone="Europe/Berlin"),
    ),
}


async def declare(scheduler: AsyncScheduler) -> None:
    for name, (function, when) in SCHEDULES.items():
        await scheduler.add_schedule(function, when, id=name, conflict_policy=ConflictPolicy.replace)
    for stored in await scheduler.get_schedules():
        if stored.id not in SCHEDULES:
            await scheduler.remove_schedule(stored.id)
