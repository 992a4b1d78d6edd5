"""Seals new entries of the trail every few seconds, so that a request doesn't have to wait to be chained."""

from typing import Final

from cronty.store.audit_store import MAX_SEALED, AuditStore

SEAL_EVERY: Final = 5.0


class Sealing:
    """Every engine does it, but not while another one is sealing."""

    def __init__(self, trail: AuditStore) -> None:
        self._trail = trail

    async def step(self) -> float:
        """Seal a batch of entries; 0 if there may be more."""
        return 0 if await self._trail.seal_some() == MAX_SEALED else SEAL_EVERY
