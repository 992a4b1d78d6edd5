from apscheduler import AsyncScheduler
from tenacity import retry, stop_after_attempt, wait_exponential


@retry(stop=stop_after_attempt(6), wait=wait_exponential())
async def fetch(page: str) -> None:
    raise ConnectionError(page)


async def ask(scheduler: AsyncScheduler) -> None:
    await scheduler.add_job(fetch, args=["/prices"])
