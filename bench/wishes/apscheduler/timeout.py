import asyncio

from apscheduler import AsyncScheduler


async def fetch(page: str) -> None:
    async with asyncio.timeout(1):
        await asyncio.Event().wait()


async def ask(scheduler: AsyncScheduler) -> None:
    await scheduler.add_job(fetch, args=["/prices"])
