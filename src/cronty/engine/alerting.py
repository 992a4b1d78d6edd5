"""Turns alerts into jobs. What raises an alert doesn't do it, because making a job may wait for a lock on the owner."""

from typing import Final

from cronty.engine.loop import MAX_REST
from cronty.store.engine_store import EngineStore

BATCH: Final = 100


class Alerting:
    """Woken when an alert is raised. Every engine does it; each alert becomes one job."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store

    async def step(self) -> float:
        """Send a batch of alerts; 0 if there may be more."""
        return 0 if await self._store.send_alerts(BATCH) == BATCH else MAX_REST
