from procrastinate import App, PsycopgConnector
from psycopg import AsyncConnection

app = App(connector=PsycopgConnector())


@app.task
async def send_receipt(order: int) -> None:
    print("receipt for", order)


async def buy(connection: AsyncConnection, order: int) -> None:
    async with connection.transaction():
        await connection.execute("insert into orders values (%s)", [order])
        await send_receipt.configure(connection=connection).defer_async(order=order)
