import asyncio

from temporalio.client import Client
from temporalio.worker import Worker
from weekday import CloseTheBooks, close_the_books, declare


async def main() -> None:
    client = await Client.connect("localhost:7233")
    await declare(client)
    await Worker(client, task_queue="shop", workflows=[CloseTheBooks], activities=[close_the_books]).run()


if __name__ == "__main__":
    asyncio.run(main())
