# Periods are in UTC, so it wakes every hour and looks at the clock of Berlin.
from datetime import datetime
from zoneinfo import ZoneInfo

from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector())


@app.periodic(cron="0 * * * *")
@app.task
async def close_the_books(timestamp: int) -> None:
    here = datetime.fromtimestamp(timestamp, ZoneInfo("Europe/Berlin"))
    if here.hour == 3 and here.weekday() < 5:
        print("closed")
