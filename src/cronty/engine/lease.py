"""The name under which this process claims runs, and its right to them.

A lease is renewed by a heartbeat; others rescue the runs of a worker whose lease has passed. A name comes into doubt
when a claim fails: PostgreSQL may have committed it and the answer got lost, so that the database thinks of runs as
ours that we have never heard of. Then nothing more is claimed under that name, what the database knows of it and we
do not is handed back, and the name is dropped when all we do know of has been settled. The same is true of a settlement
that was lost with the latest history, in a failover or a restore; nothing fails then, so it is looked for now and then.

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
                if not self._claims[worker]:
                    await self._clear_up(worker)
            await self._look_for_unknown()
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
        self.worker, now, epoch = await self._store.register_worker(
            f"{socket.gethostname()}:{os.getpid()}",
            self._version,
            tzdata_version(),
            self._working.concurrency,
            self._lasts,
        )
        self._renewed(asked_at, now, None)
        self._working.interrupt_older(epoch)
        self._looked_at, self._unknown = now, set()
        if before:
            telemetry.renamed(before, self.worker)

    async def _renew(self, worker: int) -> bool:
        asked_at = monotonic()
        beaten = await self._store.beat(worker, self._lasts)
        if beaten is None:  # struck off: others perform what was claimed under this name
            self._working.interrupt(worker)
            return False
        now, before, epoch = beaten
        self._working.interrupt_older(epoch)
        if worker == self.worker:
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

    async def _look_for_unknown(self) -> None:
        """Doubt the current name if the database has had runs of it for long that we don't know."""
        now, every = self.beat_at, timedelta(seconds=self._lasts * LOOK_EVERY)
        if now is None or (self._looked_at is not None and timedelta(0) <= now - self._looked_at < every):
            return
        unknown = set(await self._unknown_of(self.worker))
        if unknown & self._unknown:
            self._in_doubt.add(self.worker)
            self._hurry()
        self._looked_at, self._unknown = now, unknown

    def _mine(self, worker: int) -> list[_Run]:
        known = (*self._working.known(), *self._settling.held)
        return [(one.job_id, one.slot, one.number) for one in known if one.worker == worker]

    async def _unknown_of(self, worker: int) -> list[_Run]:
        """What the database has under this name and we haven't."""
        known = set(self._mine(worker))
        return [run for run in await self._store.running_of(worker) if run not in known]

    async def _clear_up(self, worker: int) -> None:
        """Nothing is claimed under this name any more: what the database has and we haven't can't be on its way."""
        mine = self._mine(worker)
        if unknown := await self._unknown_of(worker):
            telemetry.handed_back(worker, await self._store.hand_back(worker, unknown))
            await self._store.notify("queue")
        if not mine:
            await self._store.leave(worker)
        if not mine or not await self._renew(worker):
            self._in_doubt.discard(worker)
