"""Removes old data in small steps: weeks of runs, runs that have waited too long, and jobs that have ended."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.store.database import StoreUnavailable
from cronty.store.history_store import START, WAYS_TO_END, HistoryStore, PrunePosition

PRUNE_EVERY: Final = 3600.0
PRUNE_AGAIN: Final = 300.0
"""How soon to try again if something was locked."""

RUNG: Final = timedelta(hours=1)
"""How long it is known what ntfy sent ahead of us, after its run has ended."""

STARTED: Final = timedelta(hours=1)
"""How long starts under a limit are kept that no claim has tidied away."""

ROWS: Final = 500
JOBS: Final = 100
"""The most rows and jobs in one transaction."""


class Pruning:
    """Every engine does it, and skips what another engine has locked."""

    def __init__(self, store: HistoryStore, keep: timedelta) -> None:
        self.store = store
        self._keep = keep
        self._failures: Counter[str] = Counter()

    async def step(self) -> float:
        """Remove everything that is old enough; seconds until the next step."""
        now = await self.store.now()
        horizon, keep = now - self._keep, self._keep.total_seconds()
        parts: dict[str, Callable[[], Awaitable[None]]] = {
            "expiring runs": lambda: _all(lambda place: self.store.expire_runs(keep, place, JOBS)),
            "dropping weeks": lambda: self._drop_weeks(keep),
            "pruning attempts": lambda: _while_full(lambda: self.store.prune_attempts(horizon, ROWS)),
            "pruning tellings": lambda: _while_full(lambda: self.store.prune_tellings(horizon, ROWS)),
            "pruning presses": lambda: _while_full(lambda: self.store.prune_presses(horizon, ROWS)),
            "pruning what was handed over": lambda: _while_full(lambda: self.store.prune_handed_over(now - RUNG, ROWS)),
            "pruning usage": lambda: _while_full(lambda: self.store.prune_usage(horizon, ROWS)),
            "pruning keys": lambda: _while_full(lambda: self.store.prune_keys(horizon, ROWS)),
            "pruning tasks": lambda: self.store.prune_tasks(horizon),
            "pruning starts": lambda: self.store.prune_starts(now - STARTED),
            # After the weeks: a job is removed only when its history is gone.
            "removing ended jobs": lambda: self._remove_ended(_monday_of(horizon)),
            "removing deleted jobs": lambda: _all(lambda place: self.store.remove_deleted(now, place, JOBS, ROWS)),
        }
        done = [await self._try(name, part) for name, part in parts.items()]
        return PRUNE_EVERY if all(done) else PRUNE_AGAIN

    async def _try(self, name: str, part: Callable[[], Awaitable[None]]) -> bool:
        """Whether it succeeded. A failure doesn't stop the other parts."""
        try:
            await part()
        except StoreUnavailable as error:
            self._failures[name] += 1
            telemetry.step_busy(name, error, self._failures[name])
            return False
        except Exception as error:
            self._failures[name] += 1
            telemetry.step_failed(name, error, self._failures[name])
            return False
        del self._failures[name]
        return True

    async def _drop_weeks(self, keep: float) -> None:
        while await self.store.drop_partition(keep):
            pass

    async def _remove_ended(self, before: datetime) -> None:
        for way in WAYS_TO_END:
            await _all(lambda place, way=way: self.store.remove_ended(way, before, place, JOBS))


def _monday_of(moment: datetime) -> datetime:
    """The start of the week, as the partitions of `runs` have it."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=midnight.weekday())


async def _while_full(step: Callable[[], Awaitable[int]]) -> None:
    full = True
    while full:
        began = monotonic()
        full = await step() == ROWS
        await _rest(began)


async def _all(step: Callable[[PrunePosition], Awaitable[tuple[PrunePosition | None, int]]]) -> None:
    place: PrunePosition | None = START
    while place is not None:
        began = monotonic()
        place, _ = await step(place)
        await _rest(began)


async def _rest(began: float) -> None:
    """Sleep as long as the step took, so that pruning uses at most half of the database's time."""
    await asyncio.sleep(monotonic() - began)
