"""The loop that runs every duty: repeat a step, rest as long as it says or until woken, and survive its exceptions."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from cronty import telemetry
from cronty.store.database import StoreBusy, StoreUnavailable

type Step = Callable[[], Awaitable[float]]
"""Does its duty once and returns how many seconds to rest; 0 means that there may be more to do."""

LONGEST_REST: Final = 30.0
"""The longest rest in seconds, also for a duty that is woken when there is something to do."""


async def keep_doing(
    name: str, step: Step, *, wake: asyncio.Event, stop: asyncio.Event, longest: float = LONGEST_REST
) -> None:
    """To end it, set `stop`, then `wake`."""
    failures = 0
    while not stop.is_set():
        wake.clear()  # before the step, so that a wake during it is not lost
        try:
            rest = await step()
            failures = 0
        except Exception as error:
            failures += 1
            if isinstance(error, StoreBusy):
                telemetry.step_busy(name, error, failures)
            elif not isinstance(error, StoreUnavailable):  # Database logs an outage itself, once
                telemetry.step_failed(name, error, failures)
            rest = min(0.1 * 2**failures, 2.0) * (0.5 + random.random() / 2)
            await asyncio.sleep(rest)  # a wake must not turn an outage into a busy loop
            continue
        if rest > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), min(rest, longest))
