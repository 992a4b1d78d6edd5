"""Fires and claims for urgent tasks, beside the duties that do it for all, and with places of their own.

Urgent jobs are found by an index of their own, so that they don't wait behind very many others that are due. An
ordinary look that comes across one puts its run into the queue, where it is found here.
"""

from typing import Final, override

from cronty.engine.claiming import Claiming
from cronty.engine.firing import Firing

BATCH: Final = 200


class UrgentFiring(Firing):
    """Fires for urgent tasks alone, whether or not the worker is full."""

    urgent = True

    @override
    async def step(self, worker: int) -> float:
        await self._limiting.refresh()
        if not self.low.known:
            await self._begin()
        if left_out := self.crowd.turn():
            return await self._fire_others(worker, left_out)
        return await self._fire_next(worker, self._working.reserve(BATCH, urgent=True))


class UrgentClaiming(Claiming):
    """Claims for urgent tasks alone, whether or not the worker is full."""

    urgent = True
