"""Seals the trail's new entries every few seconds, so that no act has to wait for its turn in the chain."""

from typing import Final

from cronty.store.audit_store import MOST_SEALED, AuditStore

SEAL_EVERY: Final = 5.0


class Sealing:
    """Every engine does it; one that finds another at it leaves it to that one."""

    def __init__(self, trail: AuditStore) -> None:
        self._trail = trail

    async def step(self) -> float:
        """Seal what is there; 0 if there may be more."""
        return 0 if await self._trail.seal_some() == MOST_SEALED else SEAL_EVERY
