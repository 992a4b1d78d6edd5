"""Numbers for owners' jobs, taken from the database in blocks, so that new jobs don't all wait for one row."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, cast

from cronty.store.database import Database

LARGEST_BLOCK: Final = 64
QUICK: Final = 1.0
"""If a block is used up within this many seconds, the next one is twice as large; else it has one number."""

IDLE: Final = 60.0
"""A block older than this is dropped, with the numbers left in it."""


@dataclass(slots=True)
class _Block:
    next: int = 0
    end: int = 0
    size: int = 0
    taken_at: float = float("-inf")
    taking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Numbers:
    """One per process and database. A number is handed out once; an unused one leaves a gap."""

    def __init__(self, database: Database, clock: Callable[[], float] = monotonic) -> None:
        self._database = database
        self._clock = clock
        self._blocks: dict[str, _Block] = {}
        self._cleared_at = clock()

    async def next(self, owner: str) -> int:
        """A number that no other job of the owner has, unless the database was restored. Creates the owner."""
        self._clear_idle()
        block = self._blocks.setdefault(owner, _Block())
        if block.next == block.end:
            async with block.taking:
                while block.next == block.end:  # other callers waited here too, and may have used up the new block
                    await self._take(owner, block)
        block.next += 1
        return block.next - 1

    def forget(self, owner: str) -> None:
        """Drop the owner's block: the database was restored to a time before it was taken."""
        if block := self._blocks.get(owner):
            block.next = block.end

    async def _take(self, owner: str, block: _Block) -> None:
        now = self._clock()
        size = min(LARGEST_BLOCK, 2 * block.size) if now - block.taken_at < QUICK else 1
        theirs = self._database.of(owner)
        first = cast("int | None", await theirs.value("take_numbers", owner, size))
        if first is None:
            await theirs.change("ensure_owner", owner)
            first = cast("int", await theirs.value("take_numbers", owner, size))
        block.next, block.end, block.size, block.taken_at = first, first + size, size, now

    def _clear_idle(self) -> None:
        now = self._clock()
        if now - self._cleared_at > IDLE:
            self._cleared_at = now
            self._blocks = {
                owner: block
                for owner, block in self._blocks.items()
                if now - block.taken_at <= IDLE or block.taking.locked()
            }
