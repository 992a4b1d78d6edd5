"""A life: engines of two versions, doors and troubles around one real PostgreSQL, on clocks that the seed moves."""

import hashlib
from collections.abc import Collection
from typing import Final

from chaos.life.actors import Actor, Home
from chaos.life.calm import check_calm
from chaos.life.choices import NO_CUTS, Cuts
from chaos.life.doors import OwnersDoor
from chaos.life.process import Process
from chaos.life.product import Version
from chaos.life.server import Monitor
from chaos.life.stage import Stage, Violation
from chaos.life.trouble import Trouble
from chaos.life.truth import Asked, Key, Truth

SEASON: Final = 1000
"""Steps between two calms."""

CALM: Final = 120.0
SLACK: Final = 45.0
"""Seconds without faults, and how long before its end everything must have been done."""

HELD_UP: Final = 5.0
"""Seconds that an engine may wait for a door that does nothing."""


class World:
    """One life, from the first step to the last or to the first promise that doesn't hold."""

    def __init__(
        self, url: str, seed: int, cuts: Cuts = NO_CUTS, *, traced: bool = False, only: Collection[str] = ()
    ) -> None:
        self.stage = Stage(seed, cuts, traced=traced, only=only)
        self.url = url
        self.processes: list[Process] = []
        self.doors: list[OwnersDoor] = []
        self._named = 0

    async def open(self) -> None:
        self.monitor = await Monitor.open(self.url)
        self.truth = Truth(self.stage, self.monitor)
        cut = self.stage.choices.cuts.actors
        for owner in ("ann", "bob"):
            if f"door {owner}" not in cut:
                self.doors.append(OwnersDoor(self.stage, self.truth, self.monitor, owner, self.notify, self._cancelled))
        for door in self.doors:
            await door.open(self.url)
        for _ in range(self.stage.settings.engines):
            self.add_engine("older")
        self.trouble = Trouble(self)

    async def close(self) -> None:
        self.stage.calm = True
        for process in self.processes:
            await process.kill()
        for door in self.doors:
            await door.close()
        await self.monitor.close()

    def add_engine(self, version: Version) -> None:
        self._named += 1
        name = f"e{self._named}"
        if name not in self.stage.choices.cuts.actors:
            process = Process(self.stage, self.truth, self.monitor, self.url, name, version)
            self.processes.append(process)

    async def kill(self, process: Process) -> None:
        self.processes.remove(process)
        await process.kill()

    def notify(self, message: str) -> None:
        """Most engines hear it."""
        for process in self.processes:
            if process.worker is not None and self.stage.choices.chance(0.7, f"hear {process.name}"):
                process.worker.hear(message)

    def _cancelled(self, job: Asked) -> None:
        self.truth.cancelled(job, list(self.processes))

    # -- steps --------------------------------------------------------------------------------------------------

    def homes(self) -> list[Home]:
        return [*self.processes, *self.doors]

    def actors(self) -> list[Actor]:
        found = [actor for process in self.processes for actor in process.actors]
        if self.stage.calm:  # what a door has begun it may end
            return [*found, *(door.actor for door in self.doors if door.actor.task is not None)]
        return [*found, *(door.actor for door in self.doors), self.trouble.actor]

    async def step(self) -> None:
        """Let one actor go on; if none can, let time pass until one can."""
        stage = self.stage
        runnable = {actor.name: actor for actor in self.actors() if actor.runnable()}
        ending = {f"end {one.name}": one for one in self.processes if (one.next_end() or 1e99) <= stage.mono}
        if not runnable and not ending:
            self._pass_time()
            return
        stage.steps += 1
        turn = min([*runnable, *ending], key=self._luck)
        before = stage.commits
        if turn in runnable:
            await runnable[turn].go()
        else:
            await ending[turn].end_task()
        await self.monitor.sessions.settle()
        await self._unblock()
        if stage.commits != before:  # nothing else can have changed what others see
            await self.truth.check()

    def _luck(self, name: str) -> bytes:
        """Who goes first: by its own luck at this step, so that others may be left out without changing it."""
        steps = self.stage.season.keeps_luck
        said = f"{self.stage.seed} turn {name} {(self.stage.steps + sum(name.encode())) // steps}"
        return hashlib.blake2b(said.encode(), digest_size=8).digest()

    async def _unblock(self) -> None:
        """Let those come to rest whose lock was given to them, or whose session has ended."""
        while blocked := [actor for actor in self.actors() if actor.blocked_at is not None]:
            waiting = await self.monitor.waiting([actor.pid for actor in blocked if actor.pid is not None])
            freed = [actor for actor in blocked if actor.pid not in waiting]
            if not freed:
                await self._check_held_up(blocked)
                return
            for actor in freed:
                await actor.come_to_rest()

    async def _check_held_up(self, blocked: list[Actor]) -> None:
        frozen = {door.actor.pid: door for door in self.doors if door.actor.frozen}
        for actor in blocked if frozen else ():
            waited = self.stage.mono - (actor.blocked_at or 0.0)
            if actor.home not in self.doors and waited > HELD_UP * self.stage.scale and actor.pid is not None:
                for pid in await self.monitor.holding_up(actor.pid):
                    if pid in frozen:
                        self.stage.report(
                            Violation("held-up", f"{actor.name} waits for {frozen[pid].name} for {waited:.0f} s")
                        )

    def _pass_time(self) -> None:
        moments = [self.trouble.next_moment()]
        for actor in self.actors():
            if not actor.dead and (actor.task is None or actor.frozen):
                moments.append(max(actor.due if actor.task is None else 0.0, actor.still_until))
        moments += [end for process in self.processes if (end := process.next_end()) is not None]
        later = [at for at in moments if at > self.stage.mono]
        self.stage.mono = min(later) if later else self.stage.mono + 1

    # -- seasons ------------------------------------------------------------------------------------------------

    async def run(self, most: int) -> Violation | None:
        """Live for so many steps, and to the end of a last calm."""
        await self.open()
        stage = self.stage
        try:
            while stage.steps < most and stage.broken is None:
                stage.next_season()
                until = min(stage.steps + SEASON, most)
                while stage.steps < until and stage.broken is None:
                    await self.trouble.tick()
                    await self.step()
                if stage.broken is None and stage.choices.chance(0.5, "last blow"):
                    await self.trouble.strike()
                if stage.broken is None:
                    await self._rest()
        finally:
            await self.close()
        return stage.broken

    async def _rest(self) -> None:
        """Nothing goes wrong any more: whatever was due must be done by the end of it."""
        stage = self.stage
        stage.calm = True
        stage.season.onward, stage.season.keeps_luck = 0.95, 1
        stage.say("== calm")
        await self.trouble.end()
        for process in list(self.processes):
            if process.version == "newer" and stage.settings.rollback:
                await self.kill(process)
        while not any(process.version == "older" for process in self.processes):
            self.add_engine("older")
        until = stage.mono + CALM * stage.scale
        while stage.mono < until and stage.broken is None:
            await self.trouble.tick()
            await self.step()
        for actor in self.actors():
            while actor.task is not None and actor.runnable():
                await actor.go()
        await self.truth.check()
        if stage.broken is None:
            held = {Key(*one) for process in self.processes if process.worker for one in process.worker.holds()}
            await check_calm(stage, self.truth, self.monitor, held, SLACK * stage.scale)
            await self.monitor.tidy()
