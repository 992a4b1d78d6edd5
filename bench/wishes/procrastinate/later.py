from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector())


@app.task
async def remind(name: str) -> None:
    print("reminded", name)


async def ask() -> None:
    await remind.configure(schedule_in={"hours": 2}).defer_async(name="ann")
