"""An engine in a process of its own, as far as anyone can tell."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

from chaos.life.actors import MAX_REST, Actor, Connection, Home
from chaos.life.faults import FaultyConnection
from chaos.life.product import VERSION, Performed, Version, WatchedDatabase, Worker
from chaos.life.server import Monitor
from chaos.life.stage import LEASE, Stage
from chaos.life.truth import Key, Truth

type Outcome = Literal["ok", "failed", "snoozed"]


MAX_RESTS: Final = {"prune": 1000.0, "retime": 120.0}
SHORTEST_RESTS: Final = {
    "seal": 60.0,
    "prune": 60.0,
    "retime": 20.0,
    "alert": 20.0,
    "settings": 20.0,
    "rescue": LEASE / 2,
}
"""They have nothing to do most of the time. Each begins somewhere within that time, so that they don't fill the first
steps of every engine."""


class End(NamedTuple):
    """When a task that is being performed will end."""

    at: float
    key: Key
    done: asyncio.Future[None]


class Process(Home):
    """Its actors are the duties of its engine; before it has one, a single actor that starts it."""

    def __init__(self, stage: Stage, truth: Truth, monitor: Monitor, url: str, name: str, version: Version) -> None:
        super().__init__(name)
        self._stage, self._truth, self._monitor = stage, truth, monitor
        self.version: Version = version
        self.lease = LEASE * stage.scale
        self.beats_begun = self.beats_heard = 0
        self.forgotten = False
        self._heard_at, self._asleep = stage.mono, stage.asleep
        self._ends: list[End] = []
        self._database = WatchedDatabase(url, stage, partial(FaultyConnection.open, monitor.sessions), hot=True)
        self.patience = self._database.patience
        self._opened = False
        self.worker: Worker | None = None
        self.actors = [self._actor("start", self._start)]

    def silent(self) -> float:
        """Seconds since the last heartbeat that the database knows of."""
        return 1e9 if self.forgotten else self._stage.mono - self._heard_at

    @property
    def slept_since_beat(self) -> float:
        return self._stage.asleep - self._asleep

    # -- duties -------------------------------------------------------------------------------------------------

    def _actor(self, duty: str, step: Callable[[], Awaitable[float]]) -> Actor:
        async def as_this_version() -> float:
            VERSION.set(self.version)
            return await step()

        actor = Actor(self._stage, self._monitor, self, f"{self.name}.{duty}", as_this_version)
        if shortest := SHORTEST_RESTS.get(duty):
            actor.shortest_rest = shortest
            actor.due += self._stage.choices.below(int(shortest), actor.name) * self._stage.scale
        actor.longest_rest = MAX_RESTS.get(duty, MAX_REST)
        return actor

    async def _start(self) -> float:
        if not self._opened:
            await self._database.open()
            self._opened = True
        worker = await Worker.enlist(self._database, self._stage, self.lease, self._perform, self._wake)
        self.worker = worker
        self._heard()
        duties = worker.duties() | {"beat": self._beat}
        self.actors[:] = [
            self._actor(duty, step) for duty, step in duties.items()
            if f"{self.name}.{duty}" not in self._stage.choices.cuts.actors
        ]  # fmt: skip
        return 0

    async def _beat(self) -> float:
        assert self.worker is not None
        self.beats_begun += 1
        begun, at, asleep = self.beats_begun, self._stage.mono, self._stage.asleep
        epoch = self._stage.epoch
        rest = await self.worker.duties()["beat"]()
        self.beats_heard, self._heard_at, self._asleep = begun, at, asleep
        self.forgotten = self.forgotten and epoch != self._stage.epoch
        return rest

    def _heard(self) -> None:
        self._heard_at, self._asleep = self._stage.mono, self._stage.asleep

    def _wake(self, duty: str) -> None:
        for actor in self.actors:
            if actor.name == f"{self.name}.{duty}":
                actor.wake()

    # -- tasks --------------------------------------------------------------------------------------------------

    def _fate(self, performed: Performed) -> tuple[float, Outcome]:
        """How long an attempt takes and how it ends: by its name, so that it is the same in any order."""
        said = f"{self._stage.seed} {performed.job} {performed.slot} {performed.attempt}"
        luck = hashlib.blake2b(said.encode(), digest_size=2).digest()
        outcomes: tuple[Outcome, ...] = ("ok", "ok", "ok", "ok", "failed", "snoozed")
        return (0.0, 0.0, 3.0, 10.0, 20.0, 80.0)[luck[0] % 6] * self._stage.scale, outcomes[luck[1] % 6]

    async def _perform(self, performed: Performed) -> Outcome:
        seconds, outcome = self._fate(performed)
        key = self._truth.starts(self, performed)
        if seconds:
            end = End(self._stage.mono + seconds, key, asyncio.get_running_loop().create_future())
            self._ends.append(end)
            try:
                await end.done
            except asyncio.CancelledError:
                if end in self._ends:
                    self._ends.remove(end)
                self._truth.ends(key, "cancelled")
                raise
        self._truth.ends(key, outcome)
        return outcome

    @property
    def busy(self) -> int:
        return len(self._ends)

    def first_held(self) -> Key | None:
        """Of what it will still be busy with when it moves again, what a rescue would come to first."""
        keys = [end.key for end in self._ends if end.at > self.frozen_until]
        return min(keys, key=lambda key: (self._truth.kept.jobs[key.job].owner_id, key.job), default=None)

    def next_end(self) -> float | None:
        """When the next of its tasks ends; not while it is frozen."""
        return max(min(end.at for end in self._ends), self.frozen_until) if self._ends else None

    async def end_task(self) -> None:
        """Let the task end whose time has come first."""
        end = min(self._ends, key=lambda one: one.at)
        self._ends.remove(end)
        if not end.done.done():
            end.done.set_result(None)
        for _ in range(4):  # the task, what performs it, and what follows it
            await asyncio.sleep(0)

    # -- its end ------------------------------------------------------------------------------------------------

    def connections(self) -> Sequence[Connection]:
        connecting = [actor.connection for actor in self.actors if actor.connection is not None]
        return [one for one in dict.fromkeys([*self._database.connections(), *connecting]) if not one.is_closed()]

    async def kill(self) -> None:
        """As with kill -9: nothing is said any more, and PostgreSQL notices that the connections are gone."""
        self._truth.died(self)
        for actor in self.actors:
            actor.dead = True
        for connection in self.connections():
            connection.terminate()
        await self._monitor.sessions.settle()
        for actor in self.actors:
            await actor.die()
        if self.worker is not None:
            self.worker.close()
        for _ in range(4):
            await asyncio.sleep(0)
        self._database.drop()
