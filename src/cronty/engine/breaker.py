"""Holds jobs that keep failing."""

from collections.abc import Sequence

from cronty import telemetry
from cronty.store.engine_store import EngineStore


async def hold_failing(store: EngineStore, jobs: Sequence[tuple[int, str | None]]) -> None:
    """Pause jobs that fail too often, or that have a reason of their own not to go on."""
    for job_id, reason in await store.pause_failing(jobs):
        telemetry.job_paused(job_id, reason)
