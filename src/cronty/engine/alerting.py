"""Makes jobs of alerts, apart from what raised them: making a job may have to wait for its owner's other callers."""

from typing import Final

from cronty.engine.loop import LONGEST_REST
from cronty.store.engine_store import EngineStore

MOST: Final = 100


class Alerting:
    """Woken when one is raised; every engine does it, and none makes a job of the same alert."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store

    async def step(self) -> float:
        """Send what is there; 0 if there may be more."""
        return 0 if await self._store.send_alerts(MOST) == MOST else LONGEST_REST
