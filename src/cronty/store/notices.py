"""Tells engines of new jobs that are due soon, no more often than they need to hear it.

A notice is written under a lock that all of PostgreSQL shares, and wakes every engine. So the first goes out with its
job; what follows on its heels is said together, a moment later; and nothing is said of a job that is due after one that
engines were told of and wait for: when that one's time comes, they look further by themselves.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty.store.faults import StoreUnavailable

SOON: Final = timedelta(seconds=30)
"""Engines look at what comes later without being told."""

TOGETHER: Final = 0.02
"""Seconds in which notices are collected."""

MARGIN: Final = 0.2
"""Seconds before a job is due from which on engines may be looking already, and would miss what is committed now."""

type Say = Callable[[str], Awaitable[object]]


class Notices:
    """One for each process and database. A notice that is lost makes a job late by seconds, no more."""

    def __init__(self, say: Say, clock: Callable[[], float] = monotonic) -> None:
        self._say = say
        self._clock = clock
        self._last = float("-inf")
        self._awaited: tuple[datetime, float] | None = None
        self._collected: tuple[datetime, float] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._saying: asyncio.Task[None] | None = None

    def at_once(self, due: datetime, now: datetime) -> bool:
        """Whether to say it together with the job."""
        if due >= now + SOON or self._is_covered(due) or self._clock() - self._last < TOGETHER:
            return False
        self._last = self._clock()
        return True

    def done(self, due: datetime, now: datetime, *, said: bool) -> None:
        """The job is committed; `said`: and with it the notice."""
        if due >= now + SOON:
            return
        comes = due, self._clock() + (due - now).total_seconds()
        if said:
            self._awaited = comes
        elif not self._is_covered(due):
            self._collected = comes if self._collected is None else min(comes, self._collected)
            if self._timer is None:
                wait = self._last + TOGETHER - self._clock()
                self._timer = asyncio.get_running_loop().call_later(wait, self._start)

    def forget(self) -> None:
        """What engines were told of may not come any more."""
        self._awaited = None

    def _is_covered(self, due: datetime) -> bool:
        """Whether engines wait for an earlier job, and will see this one when that one's time comes."""
        return self._awaited is not None and self._awaited[0] <= due and self._clock() < self._awaited[1] - MARGIN

    def _start(self) -> None:
        self._saying = asyncio.create_task(self.flush(), name="cronty notices")

    async def flush(self) -> None:
        """Say what was collected."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (comes := self._collected) is None:
            return
        self._collected, self._last = None, self._clock()
        with suppress(StoreUnavailable):  # engines look again when the database is back
            await self._say(f"due {comes[0].timestamp():.6f}")
            self._awaited = comes
