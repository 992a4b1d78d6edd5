"""Notifies engines of new jobs that are due soon, with as few messages as possible.

A NOTIFY takes a lock that the whole PostgreSQL server shares, and wakes every engine. So the first notice is sent with
its job, and those that follow within a moment are sent as one. No notice is sent for a job that is due after one that
the engines were notified of and wait for: when that one is due, they look for more by themselves.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty.store.faults import StoreUnavailable

SOON: Final = timedelta(seconds=30)
"""Engines find jobs that are due later than this without a notice."""

TOGETHER: Final = 0.02
"""Seconds for which notices are collected."""

MARGIN: Final = 0.2
"""Seconds before a job is due in which engines may be looking already, and could miss a job committed now."""

type Say = Callable[[str], Awaitable[object]]


class Notices:
    """One per process and database. A lost notice makes a job only a few seconds late."""

    def __init__(self, say: Say, clock: Callable[[], float] = monotonic) -> None:
        self._say = say
        self._clock = clock
        self._last = float("-inf")
        self._awaited: tuple[datetime, float] | None = None
        self._collected: tuple[datetime, float] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._saying: asyncio.Task[None] | None = None

    def at_once(self, due: datetime, now: datetime) -> bool:
        """Whether to send the notice together with the job."""
        if due >= now + SOON or self._is_covered(due) or self._clock() - self._last < TOGETHER:
            return False
        self._last = self._clock()
        return True

    def done(self, due: datetime, now: datetime, *, said: bool) -> None:
        """The job is committed; `said`: its notice was sent with it."""
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
        """The job that engines wait for may have been changed."""
        self._awaited = None

    def _is_covered(self, due: datetime) -> bool:
        """Whether engines wait for an earlier job, and will find this one when that one is due."""
        return self._awaited is not None and self._awaited[0] <= due and self._clock() < self._awaited[1] - MARGIN

    def _start(self) -> None:
        self._saying = asyncio.create_task(self.flush(), name="cronty notices")

    async def flush(self) -> None:
        """Send the collected notices as one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (comes := self._collected) is None:
            return
        self._collected, self._last = None, self._clock()
        with suppress(StoreUnavailable):  # engines look again when the database is back
            await self._say(f"due {comes[0].timestamp():.6f}")
            self._awaited = comes
