"""The whole installation in a few numbers, for Prometheus and `/ready`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Final

import orjson

from cronty.jobs.frozen import Frozen
from cronty.jobs.overview import MAX_COUNTED
from cronty.store.database import Database, StoreUnavailable

KEPT: Final = 5.0
"""Seconds for which figures are used again, however many ask."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts stop at `MAX_COUNTED`; ages are seconds. `queued` has, by kind, how many runs could start and how long the
    first has waited. `offset` is the database's clock minus ours."""

    workers: int
    lost_workers: int
    running: int
    overdue: int
    oldest_overdue: float
    set_aside: int
    queued: dict[str, tuple[int, float]]
    offset: float
    frozen: Frozen | None


class FleetStore:
    """Reads the figures at most every few seconds; None while the database doesn't answer `within` seconds."""

    def __init__(self, database: Database, within: float, clock: Callable[[], float] = monotonic) -> None:
        self._database = database
        self._within = within
        self._clock = clock
        self._read_at = float("-inf")
        self._seen: Figures | None = None
        self._one_at_a_time = asyncio.Lock()

    async def look(self) -> Figures | None:
        async with self._one_at_a_time:
            if self._clock() - self._read_at >= KEPT:
                self._seen = await self._read()
                self._read_at = self._clock()
            return self._seen

    async def _read(self) -> Figures | None:
        try:
            async with asyncio.timeout(self._within):
                row = await self._database.for_the_engine().one("fleet_figures", self._database.moment(), MAX_COUNTED)
        except TimeoutError:
            self._database.start_over()  # so that the next caller doesn't wait for the same connection
            return None
        except StoreUnavailable:
            return None
        assert row is not None
        found = dict(row)
        now: datetime = found.pop("now")
        queued = {kind: (runs, max(0.0, age)) for kind, runs, age in orjson.loads(found.pop("queued"))}
        late = found.pop("oldest_overdue") or 0.0
        since, because = found.pop("frozen_at"), found.pop("frozen_because")
        frozen = None if since is None else Frozen(since, because or "")
        offset = (now - datetime.now(UTC)).total_seconds()
        return Figures(**found, oldest_overdue=late, queued=queued, offset=offset, frozen=frozen)
