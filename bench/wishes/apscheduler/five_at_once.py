import asyncio

from apscheduler import AsyncScheduler


async def fetch(page: str) -> None:
    await asyncio.sleep(1)


async def ask(scheduler: AsyncScheduler) -> None:
    await scheduler.configure_task("fetch", func=fetch, max_running_jobs=5)
    for number in range(20):
        await scheduler.add_job("fetch", args=[f"/prices/{number}"])
