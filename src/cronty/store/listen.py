"""Receives messages on the channel `cronty`: `due <unix time>`, `queue`, `alert`, `tell`, `thaw`, `stop <worker>`."""

import asyncio
from collections.abc import Callable

from cronty.store.database import Database


async def listen(database: Database, hear: Callable[[str], None]) -> None:
    """Pass every message to `hear` until the connection ends; the caller decides when to try again."""
    ended = asyncio.Event()

    def heard(_connection: object, _pid: int, _channel: str, message: object) -> None:
        hear(str(message))

    async with database.listening() as connection:
        connection.add_termination_listener(lambda _connection: ended.set())
        await connection.add_listener("cronty", heard)
        hear("listening")
        while not ended.is_set():
            try:
                await asyncio.wait_for(ended.wait(), 30)
            except TimeoutError:
                await connection.execute("select 1")  # detects a connection that broke silently
