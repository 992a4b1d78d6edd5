"""An engine whose duties are done when a test says so, at a time that stands still meanwhile."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from cronty.engine.engine import Engine

ENDLESS: Final = 1000
"""So many times may something new be due, at one moment, before that is taken for endless."""

LOOK: Final = 0.001
AHEAD: Final = timedelta(microseconds=10)
"""How far the engine's clock is ahead: what is enqueued without a delay is due a microsecond later."""


def ahead_of(clock: Callable[[], datetime]) -> Callable[[], datetime]:
    """The clock of an engine whose door has this one."""
    return lambda: clock() + AHEAD


class ByHand:
    """The engine must be enlisted, and not started."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run_until_idle(self) -> None:
        """Perform all that is due, and what that makes due, until nothing more is."""
        for _ in range(ENDLESS):
            due = await self._next()
            if due is None or due[1] > due[0]:
                return
            await self._perform()
        raise RuntimeError(
            f"After {ENDLESS} rounds something is still due: a task is always due again at the same moment."
        )

    async def next_at(self) -> datetime | None:
        """When something is due next; None if nothing is, or if the installation is frozen."""
        due = await self._next()
        return None if due is None else due[1]

    async def _next(self) -> tuple[datetime, datetime] | None:
        """The time now, and when the next slot or waiting run is due."""
        engine = self._engine
        now, slot, frozen = await engine.store.next_due(None, engine.firing.left_zones)
        waits = [await engine.store.seconds_until_queued(engine.fleetwide.unlimited(engine.registry.tasks))]
        waits.append(await engine.limited.seconds_until_next())
        if frozen:
            return None
        queued = [now + timedelta(seconds=wait) for wait in waits if wait is not None]
        moments = [moment for moment in (slot, *queued) if moment is not None]
        return (now, min(moments)) if moments else None

    async def _perform(self) -> None:
        engine = self._engine
        for firing in (engine.firing, engine.urgent_firing):
            firing.low.forget()  # it doesn't listen to what was scheduled meanwhile
        await engine.lease.beat()
        for step in (engine.urgent_step, engine.firing.step, engine.claiming.step, engine.limited.step):
            await engine.lease.claiming(step)
            while engine.working.in_flight:
                engine.working.expire()
                if await engine.settling.step() > 0:
                    await asyncio.sleep(LOOK)
