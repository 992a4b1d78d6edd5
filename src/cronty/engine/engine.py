"""One worker process: its lease, its duties, and its shutdown."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.actions.tasks import Registry
from cronty.engine.admitting import Admitting
from cronty.engine.alerting import Alerting
from cronty.engine.claiming import Claiming
from cronty.engine.firing import LOOK_EVERYWHERE_EVERY, Firing
from cronty.engine.fleetwide import Fleetwide
from cronty.engine.handing import Ahead, HandingOver
from cronty.engine.holidays import EVERY as HOLIDAYS_EVERY
from cronty.engine.holidays import Holidays
from cronty.engine.lease import Lease
from cronty.engine.limited import LimitedClaiming
from cronty.engine.limiting import Limiting
from cronty.engine.loop import MAX_REST, Step, keep_doing
from cronty.engine.pruning import PRUNE_EVERY, Pruning
from cronty.engine.rescuing import Rescuing
from cronty.engine.retiming import Retiming
from cronty.engine.sealing import Sealing
from cronty.engine.settling import Settling
from cronty.engine.telling import TellingResults
from cronty.engine.urgent import UrgentClaiming, UrgentFiring
from cronty.engine.watchdog import Watchdog
from cronty.engine.working import Working
from cronty.jobs.limits import DEFAULTS, Limits
from cronty.jobs.performers import NOTHING, Performs
from cronty.store.ahead_store import AheadStore
from cronty.store.audit_store import AuditStore
from cronty.store.database import Database
from cronty.store.engine_store import EngineStore
from cronty.store.history_store import HistoryStore
from cronty.store.holiday_store import HolidayStore
from cronty.store.listen import listen
from cronty.store.owner_store import OwnerStore
from cronty.store.task_limit_store import TaskLimitStore
from cronty.store.telling_store import TellingStore
from cronty.store.zone_store import ZoneStore
from cronty.timing.offsets import EPOCH

LEAST_PATIENCE: Final = 5.0
EXPIRE_EVERY: Final = 0.25
CLAIMING: Final = ("fire", "fire 2", "claim", "limits", "urgent", "tell", "hand over")
NEEDED_BY_SOME: Final = ("limits", "urgent")
"""Duties needed only if some task has a limit or a priority."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """`lease` and `drain` are seconds; `keep_days` is how much history is kept; `zone` is for owners without their own.

    `queues` are those whose tasks are performed; none for all. `performs` says whose tasks they are.

    `die_when_stuck` ends the process when a task blocks the event loop for four leases (`watchdog.py`). That is right
    for a worker process, and wrong inside a user's own program.
    """

    concurrency: int = 50
    lease: float = 30.0
    drain: float = 30.0
    keep_days: float = 90.0
    version: str = "0"
    die_when_stuck: bool = False
    limits: Limits = DEFAULTS
    zone: str = "UTC"
    queues: tuple[str, ...] = ()
    performs: Performs = NOTHING


class Engine:
    """Everything that happens without a request. `start` it, `stop` it; tests call the steps of its duties."""

    def __init__(
        self, database: Database, registry: Registry, options: EngineOptions, ahead: Ahead | None = None
    ) -> None:
        """Without `ahead` every notification is sent at its time."""
        store = EngineStore(database)
        self.store = store
        self.registry = registry
        self._database = database
        self._options = options
        self._tasks: list[tuple[str, asyncio.Task[None]]] = []
        self._turns = 0
        self._watchdog: Watchdog | None = None
        self._committed = 0.0
        self._stopping = asyncio.Event()
        self._finished = asyncio.Event()
        self._wakes: dict[str, asyncio.Event] = {}
        self.working = Working(options.concurrency, partial(self._wake, "settle"))
        self.limiting = Limiting(store, options.limits)
        limits = TaskLimitStore(database)
        self.settling = Settling(store, limits, self.working, self._requeued)
        hurry = partial(self._wake, "beat")
        self.lease = Lease(store, self.working, self.settling, options.lease, options.version, hurry, options.performs)
        self.fleetwide = Fleetwide(limits, registry, self.lease, options.queues)
        admitting = Admitting(store, OwnerStore(database), self.limiting, self.working)
        passing = registry, self.working, self.limiting, admitting, self.fleetwide
        self.firing = Firing(store, *passing)
        self.firing.more = partial(self._wake, "fire 2")
        self.firing.look_soon = partial(self._wake, "look")
        self.claiming = Claiming(store, *passing)
        self.limited = LimitedClaiming(store, limits, *passing)
        self.urgent_firing = UrgentFiring(store, *passing)
        self.urgent_claiming = UrgentClaiming(store, *passing)
        self.working.still_ours = self.lease.holds
        self.rescuing = Rescuing(store, self.lease, options.lease)
        self.retiming = Retiming(ZoneStore(database))
        self.firing.left_zones = self.urgent_firing.left_zones = self.retiming.left_zones
        self.holidays = Holidays(HolidayStore(database))
        self.sealing = Sealing(AuditStore(database))
        self.alerting = Alerting(store, self.limiting.topic_of, options.zone)
        self.telling = TellingResults(TellingStore(database), registry, self.limiting)
        self.handing = None
        if ahead is not None:
            self.handing = HandingOver(AheadStore(database, ahead.sealer), ahead.notify, self.limiting)
        self.pruning = Pruning(HistoryStore(database), timedelta(days=options.keep_days))

    @property
    def worker(self) -> int:
        return self.lease.worker

    async def start(self) -> None:
        await self.enlist()
        self.begin()

    def begin(self) -> None:
        """Take up every duty."""
        telemetry.worker_started(self.worker, len(self.registry.tasks))
        self._duty("fire", self._fire, self._stopping)
        self._duty("fire 2", self._fire_more, self._stopping)
        self._duty("look", self.firing.look_everywhere, self._stopping, longest=LOOK_EVERYWHERE_EVERY)
        self._duty("claim", self._claim, self._stopping)
        self._duty("limits", self._limits, self._stopping)
        self._duty("urgent", self._urgent, self._stopping)
        self._duty("rescue", self.rescuing.step, self._stopping)
        self._duty("prune", self._prune, self._stopping, longest=PRUNE_EVERY)
        self._duty("settings", self._settings, self._stopping, longest=PRUNE_EVERY)
        self._duty("retime", self.retiming.step, self._stopping)
        self._duty("holidays", self.holidays.step, self._stopping, longest=HOLIDAYS_EVERY)
        self._duty("seal", self.sealing.step, self._stopping)
        self._duty("alert", self.alerting.step, self._stopping)
        self._duty("tell", self.telling.step, self._stopping)
        if self.handing is not None:
            self._duty("hand over", self.handing.step, self._stopping)
        self._duty("settle", self.settling.step, self._finished)
        self._duty("beat", self._beat, self._finished)
        self._duty("expire", self._expire, self._finished)
        self._duty("listen", self._listen, self._finished)
        options = self._options
        self._watchdog = Watchdog(
            lambda: self._turns, self.lease, self._database, options.lease, die=options.die_when_stuck
        )
        self._watchdog.start()

    @property
    def silent_for(self) -> float:
        """Seconds since the last heartbeat."""
        return monotonic() - self._committed

    def why_stuck(self) -> str | None:
        """Why this engine isn't healthy, or None.

        A duty has ended, it has missed heartbeats (each of them is a commit), or all of its threads hang.
        """
        if not self._stopping.is_set() and (ended := [name for name, task in self._tasks if task.done()]):
            return f"The engine has stopped to {ended[0]}; restart this process."
        silent = self.silent_for
        if silent > max(self._options.lease * 2 / 3, LEAST_PATIENCE):
            return f"The engine hasn't committed anything for {silent:.0f} s."
        return "All threads hold functions past their timeout." if self.working.threads_hang else None

    async def enlist(self) -> None:
        """Prepare what firing needs, and take a lease."""
        await self.store.make_partitions()
        await self.store.publish_tasks(self.registry.published())
        await self.retiming.look()
        await self.lease.register()
        await self.fleetwide.look()
        self._committed = monotonic()

    async def stop(self) -> None:
        """Stop firing, let runs finish within the drain time, hand the rest to other workers, and give up the lease.

        If this is cancelled, the drain time is over.
        """
        self._stopping.set()
        self._wake_all()
        try:
            await self._claims_end(self._options.drain)
            await asyncio.gather(
                self.working.wait_until_empty(self._options.drain),
                self.telling.finish(self._options.drain),
                self.handing.finish(self._options.drain) if self.handing is not None else asyncio.sleep(0),
                return_exceptions=True,
            )
        finally:
            unfinished = self.working.in_flight
            try:
                if unfinished:
                    await self._claims_end(5)
                    self.working.interrupt(self.working.known())
                    await self.working.wait_until_empty(5)
            finally:
                await self._end_duties()
            await self._leave()
            telemetry.worker_stopped(self.worker, unfinished)

    async def _claims_end(self, patience: float) -> None:
        """Wait for claims that are under way: only then is it known which runs are left."""
        claiming = [task for name, task in self._tasks if name in CLAIMING]
        if claiming:
            await asyncio.wait(claiming, timeout=patience)

    async def _end_duties(self) -> None:
        self._finished.set()
        if self._watchdog is not None:
            self._watchdog.stop()
        self.working.interrupt(self.working.known())
        for _, task in self._tasks:
            task.cancel()
        self.working.close()
        await asyncio.gather(*(task for _, task in self._tasks), return_exceptions=True)
        self._tasks.clear()

    async def _leave(self) -> None:
        if not self.working.in_flight:  # else the lease runs out, and other workers rescue what is left
            with suppress(Exception):
                async with asyncio.timeout(5):
                    await self.limiting.write()
                    await self.firing.write_absence()
                    await self.lease.leave()
                    await self.store.notify("queue")

    # -- duties -------------------------------------------------------------------------------------------------

    def _duty(self, name: str, step: Step, until: asyncio.Event, longest: float = MAX_REST) -> None:
        wake = self._wakes.setdefault(name, asyncio.Event())
        loop = keep_doing(name, step, wake=wake, stop=until, longest=longest)
        task = asyncio.create_task(loop, name=f"cronty {name}")
        task.add_done_callback(partial(self._note_end, name))
        self._tasks.append((name, task))

    def _note_end(self, name: str, task: asyncio.Task[None]) -> None:
        """No duty ends by itself; one that does must not do so unseen."""
        if not task.cancelled() and (error := task.exception()) is not None:
            telemetry.duty_ended(name, error)

    async def _fire(self) -> float:
        return await self.lease.claiming(self.firing.step)

    async def _fire_more(self) -> float:
        """A second loop that fires, but only while the first one finds full batches."""
        if not self.firing.crowded:
            return float("inf")
        rest = await self.lease.claiming(self.firing.step)
        return 0 if rest == 0 else float("inf")

    async def _claim(self) -> float:
        return await self.lease.claiming(self.claiming.step)

    async def _limits(self) -> float:
        return await self.lease.claiming(self.limited.step)

    async def _urgent(self) -> float:
        return await self.lease.claiming(self.urgent_step)

    async def urgent_step(self, worker: int) -> float:
        """Fire and claim a batch of urgent runs; 0 if there may be more, else seconds until the next one is due."""
        if not self.fleetwide.has_urgent:
            return float("inf")
        return min(await self.urgent_firing.step(worker), await self.urgent_claiming.step(worker))

    async def _settings(self) -> float:
        rest = await self.fleetwide.step()
        for duty in NEEDED_BY_SOME:
            self._wake(duty)
        return rest

    async def _beat(self) -> float:
        rest = await self.lease.beat()
        self._committed = monotonic()
        return rest

    async def _expire(self) -> float:
        self._turns += 1
        self.working.expire()
        return EXPIRE_EVERY

    async def _prune(self) -> float:
        await self.store.make_partitions()
        await self.store.publish_tasks(self.registry.published())
        return await self.pruning.step()

    # -- being woken --------------------------------------------------------------------------------------------

    async def _listen(self) -> float:
        await listen(self._database, self._hear)
        return 1.0

    def _hear(self, message: str) -> None:
        word, _, detail = message.partition(" ")
        match word:
            case "due":
                for firing, duty in ((self.firing, "fire"), (self.urgent_firing, "urgent")):
                    firing.low.lower(_moment(detail))
                    self._wake(duty)
            case "queue":
                self._requeued()
            case "alert" | "tell" | "settings":
                self._wake(word)
            case "stop" if detail == str(self.worker):
                self._wake("beat")
            case "thaw":
                self._wake_all()
            case "listening":  # earlier messages were missed
                self.firing.low.forget()
                self.urgent_firing.low.forget()
                self._wake_all()
            case _:
                pass

    def _requeued(self) -> None:
        for duty in ("claim", *NEEDED_BY_SOME):
            self._wake(duty)

    def _wake(self, duty: str) -> None:
        if wake := self._wakes.get(duty):
            wake.set()

    def _wake_all(self) -> None:
        for wake in self._wakes.values():
            wake.set()


def _moment(detail: str) -> datetime:
    """The moment that a message names. One that can't be read, from another program, has us look at everything due."""
    try:
        # subtract a millisecond, because the float is only exact to about a microsecond
        return EPOCH + timedelta(seconds=float(detail) - 0.001)
    except (ValueError, OverflowError):
        return EPOCH
