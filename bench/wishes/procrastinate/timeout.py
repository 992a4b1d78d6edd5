import asyncio

from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector())


@app.task
async def fetch(page: str) -> None:
    async with asyncio.timeout(1):
        await asyncio.Event().wait()


async def ask() -> None:
    await fetch.defer_async(page="/prices")
