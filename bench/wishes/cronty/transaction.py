from asyncpg import Connection

from cronty import Cronty

cronty = Cronty()


@cronty.task
async def send_receipt(order: int) -> None:
    print("receipt for", order)


async def buy(connection: Connection, order: int) -> None:
    async with connection.transaction():
        await connection.execute("insert into orders values ($1)", order)
        await send_receipt.options(connection=connection).enqueue(order)
