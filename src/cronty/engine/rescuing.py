"""Takes back the runs of dead workers, moves lines on, and stops jobs whose key has ended."""

from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty import metrics, telemetry
from cronty.engine.breaker import Breaker
from cronty.engine.lease import Lease
from cronty.jobs.retry import MAX_CRASHES
from cronty.store.database import StoreBusy, StoreUnavailable
from cronty.store.engine_store import EngineStore, Rescued

LOOK_FOR_LOST_EVERY: Final = 60.0
"""How often to look for runs whose worker isn't in the table of workers; only a fault can cause that."""

LOOK_EVERY: Final = 5.0
"""At least so often: what a key that has expired would still do is stopped within this time."""

LOOK_BACK: Final = timedelta(hours=1)
"""How far a look for ended keys reaches back before the last look, in case a clock was set. The first look sees all."""


class Rescuing:
    """The duty of rescuing. Every engine does it; row locks decide which one rescues a worker's runs."""

    def __init__(self, store: EngineStore, lease: Lease, lasts: float) -> None:
        self._store = store
        self._lease = lease
        self._lasts = lasts
        self._looked_for_lost = monotonic()
        self._lost: set[int] = set()
        self._ended_since: datetime | None = None
        self._last_line = 0
        self._breaker = Breaker(store)

    async def step(self) -> float:
        """A part that fails doesn't keep the next ones from being done; the last fault is raised in the end."""
        fault: Exception | None = None
        for part in (self._strike_off, self._breaker.step, self._release_lines):
            try:
                await part()
            except Exception as error:
                fault = error
        more = await self.pause_orphaned()
        if fault is not None:
            raise fault
        return 0 if more else min(self._lasts / 3, LOOK_EVERY)

    async def pause_orphaned(self) -> bool:
        """Stop jobs whose key was revoked or has expired; whether there may be more."""
        looked_at = self._lease.beat_at
        paused = await self._store.pause_orphaned(self._ended_since)
        for job_id, reason in paused:
            telemetry.job_paused(job_id, reason)
        if not paused and looked_at is not None:
            self._ended_since = looked_at - LOOK_BACK
        return bool(paused)

    async def _release_lines(self) -> None:
        """Move the next lines on; settling does it too, unless its worker died in between."""
        released, self._last_line = await self._store.release_free_lines(self._last_line)
        if released:
            telemetry.released_lines(released)

    async def _strike_off(self) -> None:
        """One worker at a time, so that a fault with one doesn't keep the others from being rescued."""
        if (as_of := await self._lease.may_strike_off()) is None:
            return
        fault: Exception | None = None
        for worker in await self._store.expired_workers(as_of):
            try:
                await self._note(await self._store.strike_off(worker, as_of, MAX_CRASHES))
            except StoreUnavailable as error:
                if not isinstance(error, StoreBusy):
                    raise
                fault = error
            except Exception as error:
                fault = error
        if monotonic() - self._looked_for_lost > LOOK_FOR_LOST_EVERY:
            await self._rescue_lost()
        if fault is not None:
            raise fault

    async def _rescue_lost(self) -> None:
        """Rescue workers that were missing at the last look too. Ids are never reused, so they won't come back."""
        missing = await self._store.lost_workers()
        if gone := sorted(missing & self._lost):
            await self._note(await self._store.rescue(gone, MAX_CRASHES))
        self._lost = missing
        self._looked_for_lost = monotonic()

    async def _note(self, rescued: Rescued) -> None:
        self._breaker.failed((job_id, None) for job_id in rescued.failed)
        metrics.STRUCK_OFF.add(rescued.workers)
        metrics.RESCUED.add(rescued.runs)
        metrics.VERDICT.add(rescued.quarantined, "quarantined")
        if rescued.runs or rescued.quarantined:
            telemetry.rescued(rescued.workers, rescued.runs, rescued.quarantined)
            await self._store.notify("queue")
