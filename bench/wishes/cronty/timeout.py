import asyncio

from cronty import Cronty

cronty = Cronty()


@cronty.task(timeout=1)
async def fetch(page: str) -> None:
    await asyncio.Event().wait()


async def ask() -> None:
    await fetch.enqueue("/prices")
