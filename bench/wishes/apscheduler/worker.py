import asyncio
import os

from apscheduler import AsyncScheduler
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.eventbrokers.psycopg import PsycopgEventBroker
from sqlalchemy.ext.asyncio import create_async_engine
from weekday import declare


async def main() -> None:
    engine = create_async_engine(os.environ["SQLALCHEMY_URL"])
    store, broker = SQLAlchemyDataStore(engine), PsycopgEventBroker.from_async_sqla_engine(engine)
    async with AsyncScheduler(store, broker) as scheduler:
        await declare(scheduler)
        await scheduler.run_until_stopped()


if __name__ == "__main__":
    asyncio.run(main())
