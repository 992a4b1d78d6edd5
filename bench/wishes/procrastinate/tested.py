import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

from procrastinate import App, PsycopgConnector
from procrastinate.testing import InMemoryConnector

BERLIN = ZoneInfo("Europe/Berlin")
app = App(connector=PsycopgConnector())
closed: list[str] = []


@app.periodic(cron="0 * * * *")
@app.task
async def close_the_books(timestamp: int) -> None:
    here = datetime.fromtimestamp(timestamp, BERLIN)
    if here.hour == 3 and here.weekday() < 5:
        closed.append("closed")


async def perform(moment: datetime) -> None:
    with app.replace_connector(InMemoryConnector()) as tested:
        await close_the_books.defer_async(timestamp=int(moment.timestamp()))
        await tested.run_worker_async(wait=False, install_signal_handlers=False)


def test_not_at_the_weekend() -> None:
    for day in (8, 9, 10, 11):
        asyncio.run(perform(datetime(2027, 1, day, 3, tzinfo=BERLIN)))
    assert closed == ["closed", "closed"]
