"""The worker id under which this process claims runs, and the lease that makes them its own.

A heartbeat renews the lease; other workers rescue the runs of a worker whose lease has expired. A worker id is in doubt
after a claim failed: PostgreSQL may have committed the claim although its answer was lost, so that the database lists
runs as ours that we don't know of. Then nothing more is claimed under that id, the runs we don't know of are handed
back, and the id is dropped when all the runs we do know of are settled.

A failover or a restore may lose the latest transactions without any error. So the runs that the database lists as ours
are compared with the runs we have: after a heartbeat that shows such a loss, and regularly. Runs whose settlement was
lost are handed back, and runs whose claim was lost are interrupted.

After a suspended machine wakes up or a standby takes over, every lease looks expired. So an engine strikes off other
workers only if its own heartbeats have come steadily for a whole lease, under one id, and the database has them all.
"""

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from cronty import metrics, telemetry
from cronty.engine.attempt import Attempt
from cronty.engine.settling import Settling
from cronty.engine.working import Working
from cronty.jobs.performers import NOTHING, Performs
from cronty.store.engine_store import EngineStore
from cronty.timing import tzdata_version

STEADY: Final = 0.6
"""The next heartbeat must come within this part of a lease to count as steady."""

LOOK_EVERY: Final = 2
"""How many leases pass between two comparisons with the database. A run that is unknown here at two of them wasn't just
claimed."""

type _Run = tuple[int, datetime, int]


def since_boot() -> float:
    """Seconds by a clock that goes on while the machine is suspended, as the one of the database does; the monotonic
    clock of Linux stands still."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Lease:
    """`lasts` is in seconds. `beat_soon` is called when the next heartbeat should come at once. `beat_at` is when the
    last heartbeat was, by the database's clock."""

    def __init__(
        self,
        store: EngineStore,
        working: Working,
        settling: Settling,
        lasts: float,
        version: str,
        beat_soon: Callable[[], None],
        performs: Performs = NOTHING,
    ) -> None:
        self._store = store
        self._working = working
        self._settling = settling
        self._lasts = lasts
        self._version = version
        self._beat_soon = beat_soon
        self._performs = performs
        self._ends: dict[int, float] = {}  # of each name, by `since_boot`
        self.beat_at: datetime | None = None
        self._steady_since: datetime | None = None
        self._epoch = 0
        self._went_back = False
        self._looked_at: datetime | None = None
        self._unknown: set[_Run] = set()
        self._claims: Counter[int] = Counter()
        self._in_doubt: set[int] = set()
        self._one_at_a_time = asyncio.Lock()
        self.worker = 0

    async def register(self) -> None:
        """Take a new worker id."""
        async with self._one_at_a_time:
            await self._register()

    async def claiming(self, step: Callable[[int], Awaitable[float]]) -> float:
        """Do a step that claims runs under the current name; if it fails, the name is in doubt."""
        if not self.holds(self.worker):  # as after being frozen: others may have what is ours by now
            await self.beat()
        worker = self.worker
        self._claims[worker] += 1
        try:
            return await step(worker)
        except BaseException:
            self._in_doubt.add(worker)
            self._beat_soon()
            raise
        finally:
            self._claims[worker] -= 1
            if not self._claims[worker]:
                del self._claims[worker]

    def holds(self, worker: int) -> bool:
        """Whether what was claimed under this name is still ours, as far as can be known here."""
        return since_boot() < self._ends.get(worker, 0.0)

    def names(self) -> list[int]:
        """Every name that runs may be ours under. Another thread may ask."""
        return list(self._ends)

    def beaten_elsewhere(self, worker: int, asked_at: float, *, before: datetime) -> None:
        """Another thread has sent a heartbeat, while this one couldn't; `before` is the last that the database knew."""
        if worker in self._ends:
            self._ends[worker] = asked_at + self._lasts
        if worker == self.worker and self.beat_at is not None and before < self.beat_at:
            self._went_back = True

    async def beat(self) -> float:
        """Renew the lease and stop the runs that are to be stopped; seconds until the next heartbeat."""
        async with self._one_at_a_time:
            if self.worker in self._in_doubt or not await self._renew(self.worker):
                self._in_doubt.add(self.worker)  # a claim under way may still commit under this id
                await self._register()
            for worker in self._in_doubt - {self.worker}:
                await self._clear_up(worker)
            await self._look_at_runs()
        return self._lasts / 3

    async def may_strike_off(self) -> datetime | None:
        """The time for which this engine may decide whose lease has expired; None while it may not."""
        await self.beat()
        if self.beat_at is None or self._steady_since is None:
            return None
        steady = self.beat_at - self._steady_since >= timedelta(seconds=self._lasts)
        return self.beat_at if steady else None

    async def leave(self) -> None:
        await self._store.leave(self.worker)

    async def _register(self) -> None:
        before, asked_at = self.worker, since_boot()
        self.worker, now = await self._store.register_worker(
            f"{socket.gethostname()}:{os.getpid()}",
            self._version,
            tzdata_version(),
            self._working.concurrency,
            self._lasts,
            self._performs,
        )
        self._ends[self.worker] = asked_at + self._lasts
        self._renewed(now, None)
        self._looked_at, self._unknown = now, set()
        if before:
            telemetry.renamed(before, self.worker)
            metrics.LEASES_LOST.add()

    async def _renew(self, worker: int) -> bool:
        asked_at = since_boot()
        beaten = await self._store.beat(worker, self._lasts)
        if beaten is None:  # struck off: others perform what was claimed under this name
            self._ends.pop(worker, None)
            self._working.interrupt(self._mine(worker))
            self._working.stop(worker, {})
            return False
        self._ends[worker] = asked_at + self._lasts
        if worker == self.worker:
            now, before, epoch = beaten
            forgot = self.beat_at is not None and before < self.beat_at
            self._went_back = self._went_back or forgot or epoch != self._epoch
            self._epoch = epoch
            self._renewed(now, before)
        await self._stop_what_is_asked(worker)
        return True

    def _renewed(self, now: datetime, before: datetime | None) -> None:
        """`before` is the last heartbeat that the database knows of: what we remember may be lost to it."""
        longest = timedelta(seconds=self._lasts * STEADY)
        steady = (
            self.beat_at is not None
            and before is not None
            and before >= self.beat_at
            and timedelta(0) <= now - self.beat_at <= longest
        )
        if not steady:
            self._steady_since = now
        self.beat_at = now

    async def _stop_what_is_asked(self, worker: int) -> None:
        """A request is forgotten only when the database knows that the run isn't ours any more: what becomes of a run
        until then, even if this worker dies, is decided by the request."""
        asked = await self._store.list_stops(worker)
        self._working.stop(worker, {(job_id, slot): reason for job_id, slot, reason, held in asked if held})
        if done := [(job_id, slot) for job_id, slot, _, held in asked if not held]:
            await self._store.forget_stops(worker, done)

    async def _look_at_runs(self) -> None:
        """Compare the runs of the current id; it is in doubt if the same unknown run is found twice."""
        now, every = self.beat_at, timedelta(seconds=self._lasts * LOOK_EVERY)
        if now is None:
            return
        due = self._looked_at is None or not timedelta(0) <= now - self._looked_at < every
        if not due and not self._went_back:
            return
        unknown = set(await self._compare(self.worker))
        self._went_back = False
        if not due:
            return
        if unknown & self._unknown:
            self._in_doubt.add(self.worker)
            self._beat_soon()
        self._looked_at, self._unknown = now, unknown

    def _mine(self, worker: int) -> list[Attempt]:
        return [one for one in (*self._working.known(), *self._settling.held) if one.worker == worker]

    async def _compare(self, worker: int) -> list[_Run]:
        """Interrupt runs that only we have under this id; returns those that only the database has."""
        mine = {one: (one.job_id, one.slot, one.number) for one in self._mine(worker)}
        running = await self._store.running_of(worker)
        remembered, known = set(running), set(mine.values())
        self._working.interrupt(one for one, run in mine.items() if run not in remembered)
        return [run for run in running if run not in known]

    async def _clear_up(self, worker: int) -> None:
        """Renew a former id while runs that we know of or claims under way need it; then drop it. Without a claim under
        way, unknown runs aren't new claims: hand them back."""
        claiming, mine = worker in self._claims, self._mine(worker)
        unknown = await self._compare(worker)
        if unknown and not claiming:
            telemetry.handed_back(worker, await self._store.hand_back(worker, unknown))
            await self._store.notify("queue")
        if not mine and not claiming:
            self._ends.pop(worker, None)
            self._working.stop(worker, {})
            await self._store.leave(worker)
            self._in_doubt.discard(worker)
        elif not await self._renew(worker) and not claiming:
            self._in_doubt.discard(worker)
