"""One worker process: its lease, its duties, and how it leaves."""

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.actions.tasks import Registry
from cronty.engine.claiming import Claiming
from cronty.engine.firing import Firing
from cronty.engine.loop import Step, keep_doing
from cronty.engine.rescuing import Rescuing
from cronty.engine.settling import Settling
from cronty.engine.watchdog import watch
from cronty.engine.working import Working
from cronty.store.engine_store import EngineStore
from cronty.store.listen import listen
from cronty.timing import tzdata_version

EXPIRE_EVERY: Final = 0.25
PRUNE_EVERY: Final = 3600.0
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """`lease` and `drain` are seconds; `keep_days` is how much history is kept.

    `die_when_stuck` ends the process when a task holds the event loop for two leases: right for a worker of its own,
    rude inside somebody's program.
    """

    concurrency: int = 50
    lease: float = 30.0
    drain: float = 30.0
    keep_days: float = 90.0
    version: str = "0"
    die_when_stuck: bool = False


class Engine:
    """Everything that happens when nobody asks. `start` it, `stop` it; tests call the steps of its duties."""

    def __init__(self, store: EngineStore, registry: Registry, url: str, options: EngineOptions) -> None:
        self._store = store
        self._registry = registry
        self._url = url
        self._options = options
        self._tasks: list[asyncio.Task[None]] = []
        self._lease_ends = 0.0
        self._turns = 0
        self._stopping = asyncio.Event()
        self._finished = asyncio.Event()
        self._wakes: dict[str, asyncio.Event] = {}
        self._claims: Counter[int] = Counter()
        self._doubtful: set[int] = set()
        self.worker = 0
        self.working = Working(options.concurrency, lambda: self._wake("settle"))
        self.firing = Firing(store, registry, self.working)
        self.firing.more = lambda: self._wake("fire 2")
        self.claiming = Claiming(store, registry, self.working)
        self.settling = Settling(store, self.working, lambda: self._wake("claim"))
        self.rescuing = Rescuing(store, options.lease)

    async def start(self) -> None:
        await self.enlist()
        telemetry.worker_started(self.worker, _name(), len(self._registry.tasks))
        self._duty("fire", self._fire, self._stopping)
        self._duty("fire 2", self._fire_more, self._stopping)
        self._duty("claim", self._claim, self._stopping)
        self._duty("rescue", self.rescuing.step, self._stopping)
        self._duty("prune", self._prune, self._stopping)
        self._duty("settle", self.settling.step, self._finished)
        self._duty("beat", self._beat, self._finished)
        self._duty("expire", self._expire, self._finished)
        self._duty("listen", self._listen, self._finished)
        if self._options.die_when_stuck:
            watch(lambda: self._turns, 2 * self._options.lease, self._finished.is_set)

    async def enlist(self) -> None:
        """Make ready what firing needs, and take a lease."""
        await self._store.make_partitions()
        await self._store.publish_tasks(self._registry.published())
        await self._register()

    async def stop(self) -> None:
        """Stop firing, finish what runs within the drain time, hand the rest over, and give up the lease."""
        self._stopping.set()
        self._wake_all()
        unfinished = 0
        if not await self.working.wait_until_empty(self._options.drain):
            unfinished = self.working.in_flight
            self.working.interrupt()
            await self.working.wait_until_empty(5)
        self._finished.set()
        self._wake_all()
        if not self.working.in_flight:  # else the lease stays until it passes, and others rescue what is left
            with suppress(Exception):
                async with asyncio.timeout(5):
                    await self._store.leave(self.worker)
                    await self._store.notify("queue")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self.working.close()
        telemetry.worker_stopped(self.worker, unfinished)

    # -- duties -------------------------------------------------------------------------------------------------

    def _duty(self, name: str, step: Step, until: asyncio.Event) -> None:
        wake = self._wakes.setdefault(name, asyncio.Event())
        self._tasks.append(asyncio.create_task(keep_doing(name, step, wake=wake, stop=until), name=f"cronty {name}"))

    async def _fire(self) -> float:
        return await self._claiming(self.firing.step)

    async def _fire_more(self) -> float:
        """The second pair of hands: works only while the first one finds full batches."""
        if not self.firing.crowded:
            return float("inf")
        rest = await self._claiming(self.firing.step)
        return 0 if rest == 0 else float("inf")

    async def _claim(self) -> float:
        return await self._claiming(self.claiming.step)

    async def _claiming(self, step: Callable[[int], Awaitable[float]]) -> float:
        """Claim under this worker's name; a step that fails may have claimed all the same, and puts it in doubt."""
        if monotonic() >= self._lease_ends:  # as after being frozen: others may have what is ours by now
            await self._beat()
        worker = self.worker
        self._claims[worker] += 1
        try:
            return await step(worker)
        except BaseException:
            self._doubtful.add(worker)
            self._wake("beat")
            raise
        finally:
            self._claims[worker] -= 1

    async def _beat(self) -> float:
        if self.worker in self._doubtful or not await self._renew(self.worker):
            await self._register()
        for worker in list(self._doubtful):
            if not self._claims[worker]:
                await self._clear_up(worker)
        return self._options.lease / 3

    async def _renew(self, worker: int) -> bool:
        asked_at = monotonic()
        if not await self._store.beat(worker, self._options.lease):
            return False
        if worker == self.worker:
            self._lease_ends = asked_at + self._options.lease
        for job_id, slot in await self._store.take_stops(worker):
            self.working.stop(job_id, slot)
        return True

    async def _clear_up(self, worker: int) -> None:
        """Hand back what was claimed under a name in doubt and isn't known here; drop the name when it holds nothing.

        Nothing is claimed under it any more, so what the database has and this process hasn't can't be on its way.
        """
        mine = [one for one in (*self.working.known(), *self.settling.held) if one.worker == worker]
        known = {(one.job_id, one.slot, one.number) for one in mine}
        unknown = [run for run in await self._store.running_of(worker) if run not in known]
        if unknown:
            telemetry.handed_back(worker, await self._store.hand_back(worker, unknown))
            self._wake("claim")
        if not mine:
            await self._store.leave(worker)
        if not mine or not await self._renew(worker):
            self._doubtful.discard(worker)

    async def _expire(self) -> float:
        self._turns += 1
        self.working.expire()
        return EXPIRE_EVERY

    async def _prune(self) -> float:
        await self._store.make_partitions()
        await self._store.publish_tasks(self._registry.published())
        await self._store.prune(timedelta(days=self._options.keep_days).total_seconds())
        return PRUNE_EVERY

    async def _register(self) -> None:
        before = self.worker
        asked_at = monotonic()
        self.worker = await self._store.register_worker(
            _name(), self._options.version, tzdata_version(), self._options.concurrency, self._options.lease
        )
        self._lease_ends = asked_at + self._options.lease
        if before:
            telemetry.renamed(before, self.worker)

    # -- being woken --------------------------------------------------------------------------------------------

    async def _listen(self) -> float:
        await listen(self._url, self._hear)
        return 1.0

    def _hear(self, message: str) -> None:
        word, _, detail = message.partition(" ")
        match word:
            case "due":
                # a float has no microseconds to spare in this century
                self.firing.low.lower(_EPOCH + timedelta(seconds=float(detail) - 0.001))
                self._wake("fire")
            case "queue":
                self._wake("claim")
            case "stop" if detail == str(self.worker):
                self._wake("beat")
            case "listening":  # whatever was said before wasn't heard
                self.firing.low.forget()
                self._wake_all()
            case _:
                pass

    def _wake(self, duty: str) -> None:
        if wake := self._wakes.get(duty):
            wake.set()

    def _wake_all(self) -> None:
        for wake in self._wakes.values():
            wake.set()


def _name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
