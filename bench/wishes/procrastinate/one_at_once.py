# One that is due while another runs waits for it.
import asyncio

from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector())


@app.periodic(cron="* * * * *")
@app.task(lock="close_the_books")
async def close_the_books(timestamp: int) -> None:
    await asyncio.sleep(90)
