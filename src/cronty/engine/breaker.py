"""Pauses jobs that keep failing."""

from collections.abc import Sequence

from cronty import telemetry
from cronty.store.engine_store import EngineStore


async def pause_failing(store: EngineStore, jobs: Sequence[tuple[int, str | None]]) -> None:
    """Pause those of these jobs that fail too often, and those given with a reason."""
    for job_id, reason in await store.pause_failing(jobs):
        telemetry.job_paused(job_id, reason)
