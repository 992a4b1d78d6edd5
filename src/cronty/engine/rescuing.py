"""Takes back the runs of dead workers, moves lines on, and pauses jobs whose key has ended."""

from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.engine.breaker import pause_failing
from cronty.engine.lease import Lease
from cronty.jobs.retry import MAX_CRASHES
from cronty.store.database import StoreBusy, StoreUnavailable
from cronty.store.engine_store import EngineStore, Rescued

LOOK_FOR_LOST_EVERY: Final = 60.0
"""How often to look for runs whose worker isn't in the table of workers; only a fault can cause that."""

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

    async def step(self) -> float:
        fault: Exception | None = None
        if as_of := await self._lease.may_strike_off():
            fault = await self._strike_off(as_of)
            if monotonic() - self._looked_for_lost > LOOK_FOR_LOST_EVERY:
                await self._rescue_lost()
        if released := await self._store.release_lines(None):
            telemetry.released_lines(released)
        more = await self.pause_orphaned()
        if fault is not None:
            raise fault
        return 0 if more else self._lasts / 3

    async def pause_orphaned(self) -> bool:
        """Pause jobs whose key was revoked or has expired; whether there may be more."""
        looked_at = self._lease.beat_at
        paused = await self._store.pause_orphaned(self._ended_since)
        for job_id, reason in paused:
            telemetry.job_paused(job_id, reason)
        if not paused and looked_at is not None:
            self._ended_since = looked_at - LOOK_BACK
        return bool(paused)

    async def _strike_off(self, as_of: datetime) -> Exception | None:
        """One worker at a time, so that a fault with one doesn't keep the others from being rescued."""
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
        return fault

    async def _rescue_lost(self) -> None:
        """Rescue workers that were missing at the last look too. Ids are never reused, so they won't come back."""
        missing = await self._store.lost_workers()
        if gone := sorted(missing & self._lost):
            await self._note(await self._store.rescue(gone, MAX_CRASHES))
        self._lost = missing
        self._looked_for_lost = monotonic()

    async def _note(self, rescued: Rescued) -> None:
        if rescued.runs or rescued.quarantined:
            telemetry.rescued(rescued.workers, rescued.runs, rescued.quarantined)
            await self._store.notify("queue")
        if rescued.failed:
            await pause_failing(self._store, [(job_id, None) for job_id in rescued.failed])
