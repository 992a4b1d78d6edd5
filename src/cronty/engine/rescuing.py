"""Takes back what workers that are gone had claimed, frees what waits for nothing, holds what lost its key."""

from collections.abc import Sequence
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.jobs.retry import MAX_CRASHES
from cronty.store.engine_store import EngineStore

SWEEP_EVERY: Final = 60.0
"""How often to look for runs whose worker isn't listed at all, as after a crash between expiring and rescuing."""

ENDED_WITHIN: Final = 3600.0
"""Which keys to look at for jobs they leave behind; at its first look an engine looks at all that ever ended."""


async def hold_failing(store: EngineStore, jobs: Sequence[tuple[int, str | None]]) -> None:
    """The breaker: pause jobs that fail too often, or that have a reason of their own not to go on."""
    for job_id, reason in await store.pause_failing(jobs):
        telemetry.job_paused(job_id, reason)


class Rescuing:
    """The duty of rescuing; every engine does it, and the database decides who was first."""

    def __init__(self, store: EngineStore, lease: float) -> None:
        self._store = store
        self._lease = lease
        self._swept = 0.0
        self._ended_within: float | None = None

    async def step(self) -> float:
        expired = await self._store.expire_workers(self._lease)
        if expired or monotonic() - self._swept > SWEEP_EVERY:
            rescued = await self._store.rescue(MAX_CRASHES)
            self._swept = monotonic()
            if rescued.runs or rescued.quarantined:
                telemetry.rescued(expired, rescued.runs, rescued.quarantined)
                await self._store.notify("queue")
            if rescued.failed:
                await hold_failing(self._store, [(job_id, None) for job_id in rescued.failed])
        if released := await self._store.release_stuck():
            telemetry.released_stuck(released)
            await self._store.notify("queue")
        return 0 if await self.hold_orphaned() else self._lease / 3

    async def hold_orphaned(self) -> bool:
        """Pause jobs whose key was revoked or has run out; whether there may be more of them."""
        paused = await self._store.pause_orphaned(self._ended_within)
        for job_id, reason in paused:
            telemetry.job_paused(job_id, reason)
        if not paused:
            self._ended_within = ENDED_WITHIN
        return bool(paused)
