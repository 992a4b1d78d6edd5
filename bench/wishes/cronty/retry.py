from cronty import Cronty

cronty = Cronty()


@cronty.task(retries=5)
async def fetch(page: str) -> None:
    raise ConnectionError(page)


async def ask() -> None:
    await fetch.enqueue("/prices")
