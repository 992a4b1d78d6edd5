"""Counts the turns that others have on the loop while something is done."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass
class Turns:
    """`count` is how many others have had."""

    count: int = 0

    async def take(self) -> None:
        while True:
            self.count += 1
            await asyncio.sleep(0)


@asynccontextmanager
async def turns_of_others() -> AsyncGenerator[Turns]:
    turns = Turns()
    async with asyncio.TaskGroup() as group:
        beside = group.create_task(turns.take())
        yield turns
        beside.cancel()
