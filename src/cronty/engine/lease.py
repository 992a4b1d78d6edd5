"""The name under which this process claims runs, and its right to them.

A lease is renewed by a heartbeat; others rescue the runs of a worker whose lease has passed. A name comes into doubt
when a claim fails: PostgreSQL may have committed it and the answer got lost, so that the database thinks of runs as
ours that we have never heard of. Then nothing more is claimed under that name, what the database knows of it and we
do not is handed back, and the name is dropped when all we do know of has been settled.

A failover or a restore may lose the latest history, and nothing fails then. So what the database has as ours is
compared with what we have, at the first heartbeat after the loss if that shows it, and now and then in any case: runs
whose settlement was lost are handed back, and those whose claim was lost are interrupted.

An engine that was away itself can't tell who is dead: after a suspended machine wakes or a standby takes over, every
lease has passed. So it strikes off others only when its own heartbeats have come steadily for a whole lease, under one
name, and the database remembers them.
"""

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.engine.attempt import Attempt
from cronty.engine.settling import Settling
from cronty.engine.working import Working
from cronty.store.engine_store import EngineStore
from cronty.timing import tzdata_version

STEADY: Final = 0.6
"""The part of a lease within which one heartbeat must follow the other."""

LOOK_EVERY: Final = 2
"""Leases between two looks at what the database thinks of as ours. A run that is unknown here at two of them isn't on
its way."""

type _Run = tuple[int, datetime, int]


class Lease:
    """`lasts` is seconds; `hurry` is called when the next heartbeat should come at once. `beat_at` is when the last one
    came, by the database's clock."""

    def __init__(
        self,
        store: EngineStore,
        working: Working,
        settling: Settling,
        lasts: float,
        version: str,
        hurry: Callable[[], None],
    ) -> None:
        self._store = store
        self._working = working
        self._settling = settling
        self._lasts = lasts
        self._version = version
        self._hurry = hurry
        self._ends = 0.0
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
        """Take a name that nobody has had."""
        async with self._one_at_a_time:
            await self._register()

    async def claiming(self, step: Callable[[int], Awaitable[float]]) -> float:
        """Do a step that claims runs under the current name; if it fails, the name is in doubt."""
        if monotonic() >= self._ends:  # as after being frozen: others may have what is ours by now
            await self.beat()
        worker = self.worker
        self._claims[worker] += 1
        try:
            return await step(worker)
        except BaseException:
            self._in_doubt.add(worker)
            self._hurry()
            raise
        finally:
            self._claims[worker] -= 1

    async def beat(self) -> float:
        """Renew the lease and hear what is to be stopped; answers how long to rest."""
        async with self._one_at_a_time:
            if self.worker in self._in_doubt or not await self._renew(self.worker):
                self._in_doubt.add(self.worker)  # a claim under way may yet commit under this name
                await self._register()
            for worker in self._in_doubt - {self.worker}:
                await (self._compare(worker) if self._claims[worker] else self._clear_up(worker))
            await self._look_at_runs()
        return self._lasts / 3

    async def judge(self) -> datetime | None:
        """The moment as of which this engine may strike others off; None while it may not."""
        await self.beat()
        if self.beat_at is None or self._steady_since is None:
            return None
        steady = self.beat_at - self._steady_since >= timedelta(seconds=self._lasts)
        return self.beat_at if steady else None

    async def leave(self) -> None:
        await self._store.leave(self.worker)

    async def _register(self) -> None:
        before, asked_at = self.worker, monotonic()
        self.worker, now = await self._store.register_worker(
            f"{socket.gethostname()}:{os.getpid()}",
            self._version,
            tzdata_version(),
            self._working.concurrency,
            self._lasts,
        )
        self._renewed(asked_at, now, None)
        self._looked_at, self._unknown = now, set()
        if before:
            telemetry.renamed(before, self.worker)

    async def _renew(self, worker: int) -> bool:
        asked_at = monotonic()
        beaten = await self._store.beat(worker, self._lasts)
        if beaten is None:  # struck off: others perform what was claimed under this name
            self._working.interrupt(self._mine(worker))
            return False
        if worker == self.worker:
            now, before, epoch = beaten
            forgot = self.beat_at is not None and before < self.beat_at
            self._went_back = self._went_back or forgot or epoch != self._epoch
            self._epoch = epoch
            self._renewed(asked_at, now, before)
        await self._stop_what_is_asked(worker)
        return True

    def _renewed(self, asked_at: float, now: datetime, before: datetime | None) -> None:
        """`before` is the last heartbeat that the database knows of: what we remember may be lost to it."""
        self._ends = asked_at + self._lasts
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
        met = [
            (job_id, slot)
            for job_id, slot, held in await self._store.list_stops(worker)
            # What is held and not known here has just been claimed, and its answer is on its way: asked again soon.
            if self._working.stop(job_id, slot) or not held
        ]
        if met:
            await self._store.forget_stops(worker, met)

    async def _look_at_runs(self) -> None:
        """Compare the runs of the current name; doubt it if the database has had some for long that we don't know."""
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
            self._hurry()
        self._looked_at, self._unknown = now, unknown

    def _mine(self, worker: int) -> list[Attempt]:
        return [one for one in (*self._working.known(), *self._settling.held) if one.worker == worker]

    async def _compare(self, worker: int) -> list[_Run]:
        """Interrupt what we have under this name and the database hasn't; answers what it has and we haven't."""
        mine = {one: (one.job_id, one.slot, one.number) for one in self._mine(worker)}
        running = await self._store.running_of(worker)
        remembered, known = set(running), set(mine.values())
        self._working.interrupt(one for one, run in mine.items() if run not in remembered)
        return [run for run in running if run not in known]

    async def _clear_up(self, worker: int) -> None:
        """Nothing is claimed under this name any more: what the database has and we haven't can't be on its way."""
        mine = self._mine(worker)
        if unknown := await self._compare(worker):
            telemetry.handed_back(worker, await self._store.hand_back(worker, unknown))
            await self._store.notify("queue")
        if not mine:
            await self._store.leave(worker)
        if not mine or not await self._renew(worker):
            self._in_doubt.discard(worker)
