"""Turns alerts into jobs. What raises an alert doesn't do it, because making a job may wait for a lock on the owner."""

from collections.abc import Callable
from typing import Final

from cronty.engine.loop import MAX_REST
from cronty.store.engine_store import EngineStore

BATCH: Final = 100

QUIET: Final = 10.0
"""Seconds after the last slot that was caught up on, until its owner is told of the absence."""


class Alerting:
    """Woken when an alert is raised. Every engine does it; each alert becomes one job.

    `topic_of` gives the topic of an owner's alerts, `zone` is for owners without their own."""

    def __init__(self, store: EngineStore, topic_of: Callable[[int], str], zone: str) -> None:
        self._store = store
        self._topic_of = topic_of
        self._zone = zone

    async def step(self) -> float:
        """Send a batch of alerts; 0 if there may be more."""
        await self._store.tell_absences(QUIET, BATCH, self._topic_of, self._zone)
        return 0 if await self._store.send_alerts(BATCH) == BATCH else MAX_REST
