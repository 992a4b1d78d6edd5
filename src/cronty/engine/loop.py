"""The loop that runs every duty: repeat a step, rest as long as it says or until woken, and survive its exceptions."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from cronty import metrics, telemetry
from cronty.store.database import StoreBusy, StoreUnavailable

type Step = Callable[[], Awaitable[float]]
"""Does its duty once and returns how many seconds to rest; 0 means that there may be more to do."""

MAX_REST: Final = 30.0
"""The longest rest in seconds, also for a duty that is woken when there is something to do."""


_SHORTEST_PAUSE: Final = 0.2
_MAX_PAUSE: Final = 2.0
_DOUBLINGS: Final = 8
"""So many doublings reach the longest pause. The exponent is bounded: an outage may last for years."""


async def keep_doing(
    name: str, step: Step, *, wake: asyncio.Event, stop: asyncio.Event, longest: float = MAX_REST
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
            metrics.STEP_FAILURES.add(1, name)
            if isinstance(error, StoreBusy):
                telemetry.step_busy(name, error, failures)
            elif not isinstance(error, StoreUnavailable):  # Database logs an outage itself, once
                telemetry.step_failed(name, error, failures)
            await asyncio.sleep(_pause(failures))  # a wake must not turn an outage into a busy loop
            continue
        if rest > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), min(rest, longest))


def _pause(failures: int) -> float:
    """Seconds before a step that failed so often in a row is tried again."""
    longest = min(_SHORTEST_PAUSE * 2 ** min(failures - 1, _DOUBLINGS), _MAX_PAUSE)
    return longest * (0.5 + random.random() / 2)
