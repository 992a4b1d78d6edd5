import asyncio

from cronty import Cronty

cronty = Cronty()


@cronty.task(concurrency=5)
async def fetch(page: str) -> None:
    await asyncio.sleep(1)


async def ask() -> None:
    for number in range(20):
        await fetch.enqueue(f"/prices/{number}")
