from procrastinate import App, PsycopgConnector, RetryStrategy

app = App(connector=PsycopgConnector())


@app.task(retry=RetryStrategy(max_attempts=5, exponential_wait=2))
async def fetch(page: str) -> None:
    raise ConnectionError(page)


async def ask() -> None:
    await fetch.defer_async(page="/prices")
