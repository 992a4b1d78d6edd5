"""Pauses jobs that keep failing."""

from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.store.database import StoreBusy, StoreUnavailable
from cronty.store.engine_store import EngineStore

TRY_AGAIN: Final = 5.0
"""Seconds until a job that couldn't be paused is tried again."""


class Breaker:
    """A job that failed is kept until it was looked at: its failures are settled by then, and aren't told again."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store
        self._left: dict[int, str | None] = {}
        self._try_at = 0.0
        self._failures = 0

    def failed(self, jobs: Iterable[tuple[int, str | None]]) -> None:
        """These jobs had a run fail for good; a reason pauses a job whatever its policy says."""
        for job_id, reason in jobs:
            self._left[job_id] = reason or self._left.get(job_id)

    async def step(self) -> float:
        """Pause those that fail too often, and those with a reason; seconds until the next try."""
        if not self._left:
            return float("inf")
        if (rest := self._try_at - monotonic()) > 0:
            return rest
        fault = await self._pause(list(self._left))
        if fault is not None and len(self._left) > 1:  # one of them may be the cause
            for job_id in list(self._left):
                fault = await self._pause([job_id]) or fault
        if not self._left:
            self._failures = 0
            return float("inf")
        assert fault is not None
        self._failures += 1
        telemetry.step_busy("pausing failing jobs", fault, self._failures)
        self._try_at = monotonic() + TRY_AGAIN
        return TRY_AGAIN

    async def _pause(self, jobs: Sequence[int]) -> Exception | None:
        try:
            paused = await self._store.pause_failing([(job_id, self._left[job_id]) for job_id in jobs])
        except StoreUnavailable as error:
            if not isinstance(error, StoreBusy):
                raise
            return error
        except Exception as error:
            return error
        for job_id in jobs:
            del self._left[job_id]
        for job_id, reason in paused:
            telemetry.job_paused(job_id, reason)
        return None
