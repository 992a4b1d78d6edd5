"""Lets the past go, in small steps: weeks of runs, what waits for ever, and jobs that are over."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty.store.database import StoreBusy
from cronty.store.history_store import START, WAYS_TO_END, HistoryStore, Place

PRUNE_EVERY: Final = 3600.0
PRUNE_AGAIN: Final = 300.0
"""How soon to try again where something is in the way."""

ROWS: Final = 500
JOBS: Final = 100
"""At most so many in one transaction."""


class Pruning:
    """Every engine does it; what one has locked, the others leave to it."""

    def __init__(self, store: HistoryStore, keep: timedelta) -> None:
        self.store = store
        self._keep = keep

    async def step(self) -> float:
        """Let go of everything that is old enough; seconds until the next look."""
        now = await self.store.now()
        horizon, keep = now - self._keep, self._keep.total_seconds()
        await _all(lambda place: self.store.expire_runs(keep, place, JOBS))
        rest = PRUNE_EVERY
        try:
            while await self.store.drop_partition(keep):
                pass
        except StoreBusy:  # a reader, such as a backup, uses the history: it isn't in a hurry to go
            rest = PRUNE_AGAIN
        await _while_full(lambda: self.store.prune_attempts(horizon, ROWS))
        await _while_full(lambda: self.store.prune_usage(horizon, ROWS))
        await self.store.prune_tasks(horizon)
        # Their weeks are to be gone, so that only few are looked at in vain.
        for way in WAYS_TO_END:
            await _all(lambda place, way=way: self.store.remove_ended(way, _monday_of(horizon), place, JOBS))
        await _all(lambda place: self.store.remove_deleted(now, place, JOBS, ROWS))
        return rest


def _monday_of(moment: datetime) -> datetime:
    """When the week began, as weeks of history do."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=midnight.weekday())


async def _while_full(step: Callable[[], Awaitable[int]]) -> None:
    full = True
    while full:
        began = monotonic()
        full = await step() == ROWS
        await _rest(began)


async def _all(step: Callable[[Place], Awaitable[tuple[Place | None, int]]]) -> None:
    place: Place | None = START
    while place is not None:
        began = monotonic()
        place, _ = await step(place)
        await _rest(began)


async def _rest(began: float) -> None:
    """As long as the step took: others have half of the database at least."""
    await asyncio.sleep(monotonic() - began)
