"""Live through seeds and say in figures what held; replay one, or shrink it to what a person can read."""

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Final

from chaos.life.beside import side_by_side
from chaos.life.choices import NO_CUTS, Cuts
from chaos.life.mends import MENDS, taken_out
from chaos.life.server import Server
from chaos.life.shrink import shrink
from chaos.life.simulated import simulated
from chaos.life.stage import Stage
from chaos.life.watch import PATIENCE, Watch
from chaos.life.world import World
from chaos.verdict import Figures

NOTHING: Final = ("nothing",)


@dataclass(frozen=True, slots=True)
class Plan:
    """`steps` are divided among the seeds.

    `only` are the promises to look at, all if there are none; `no` are kinds of faults and troubles to leave out.
    A seed ends with its first broken promise, unless it is to `go_on` to the last step and find all kinds. Without one
    of the mends, the first seed that breaks what that mends is the last.
    """

    steps: int = 50_000
    seeds: tuple[int, ...] = (7,)
    only: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    without_mend: str | None = None
    go_on: bool = False
    replay: bool = False
    shrink: bool = False
    budget: float = 120.0
    processes: int = 1

    @property
    def looks_at(self) -> tuple[str, ...]:
        return self.only or (MENDS[self.without_mend].found_as if self.without_mend else ())

    @property
    def share(self) -> int:
        """Steps of each seed."""
        return -(-self.steps // len(self.seeds))

    def parts(self) -> "list[Plan]":
        """What each process lives through."""
        seeds = [self.seeds[first :: self.processes] for first in range(self.processes)]
        return [replace(self, processes=1, seeds=some, steps=self.share * len(some)) for some in seeds if some]


class Lives:
    """Lives of a plan, one after the other on one server."""

    def __init__(self, server: Server, plan: Plan) -> None:
        self._server, self._plan = server, plan
        self._began = time.monotonic()
        self._lived: list[Stage] = []
        self._now: Stage | None = None
        self._broken: list[str] = []

    async def all(self) -> None:
        plan = self._plan
        await self._server.prepare()
        for seed in plan.seeds:
            only = NOTHING if plan.go_on else plan.looks_at
            stage = await self.live(seed, plan.share, only=only, traced=plan.replay)
            self._lived.append(stage)
            print(*stage.trace or (), sep="\n", end="\n" if plan.replay else "")
            for step, kind, said in stage.found(plan.looks_at):
                self._break(seed, step, said)
                if plan.shrink:
                    await shrink(self.live, seed, kind, step, plan.budget)
            if self._broken and plan.without_mend:
                break  # it is found

    async def live(
        self, seed: int, steps: int, cuts: Cuts = NO_CUTS, *, only: Sequence[str] = (), traced: bool = False
    ) -> Stage:
        """One life; what it was like is on its stage."""
        cuts = cuts._replace(kinds=cuts.kinds | set(self._plan.no))
        schema = MENDS[self._plan.without_mend].schema if self._plan.without_mend else ""
        world = World(await self._server.fresh(schema), seed, cuts, traced=traced, only=only)
        self._now = world.stage
        world.stage.backfills = self._plan.without_mend is None
        try:
            with simulated(world.stage), taken_out(self._plan.without_mend):
                await world.run(steps)
        except Exception as error:
            error.add_note(f"seed {seed} step {world.stage.steps}\n  {_replay(self._plan, seed)}")
            raise
        return world.stage

    def progress(self) -> object:
        """Something else after every step."""
        return None if self._now is None else (id(self._now), self._now.steps, self._now.statements, self._now.mono)

    def give_up(self) -> None:
        """The life hangs, and perhaps all of this process with it."""
        if self._now is not None:
            said = f"hangs: no step for {PATIENCE:.0f} s, after {self._now.last_said}"
            self._break(self._now.seed, self._now.steps, said)
        self._server.close()
        print(json.dumps(self.figures()), flush=True)
        os._exit(1)

    def _break(self, seed: int, step: int, said: str) -> None:
        self._broken.append(f"seed {seed} step {step}: {said}")
        print(self._broken[-1], _replay(self._plan, seed), sep="\n  ", file=sys.stderr, flush=True)

    def figures(self) -> Figures:
        lived = self._lived
        injected = sum((stage.injected for stage in lived), Counter[str]())
        return {
            "scenario": "life", "seeds": len(self._plan.seeds), "steps": sum(stage.steps for stage in lived),
            "statements": sum(stage.statements for stage in lived),
            "days": round(sum(stage.days() for stage in lived), 2),
            "faults": sum(injected.values()), "of_kind": dict(sorted(injected.items())),
            "seconds": round(time.monotonic() - self._began, 1), "digests": [stage.digest for stage in lived][:5],
            "broken": self._broken,
        }  # fmt: skip


def _replay(plan: Plan, seed: int) -> str:
    more = [f"--without-mend {plan.without_mend}"] if plan.without_mend else []
    more += [f"--no {','.join(plan.no)}"] if plan.no else []
    return " ".join([f"python -m chaos life --seed {seed} --steps {plan.share}", *more, "--replay"])


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` names the promises that don't hold."""
    if plan.processes > 1:
        return side_by_side(run, plan.parts())
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: told.append(number))
    server = Server()

    def leave(number: int, _frame: FrameType | None) -> None:
        server.close()
        os._exit(128 + number)  # whatever is under way has nothing left to work with

    signal.signal(signal.SIGTERM, leave)
    if told:  # while PostgreSQL was starting
        leave(told[0], None)
    lives = Lives(server, plan)
    watch = Watch(lives.progress, lives.give_up)
    try:
        watch.start()
        asyncio.run(lives.all())
    finally:
        watch.end()
        server.close()
        signal.signal(signal.SIGTERM, before)
    return lives.figures()


def read_seeds(text: str) -> tuple[int, ...]:
    """`7`, or `1-60`."""
    first, _, last = text.partition("-")
    return tuple(range(int(first), int(last or first) + 1))


def read_names(text: str) -> tuple[str, ...]:
    """`overlap,untrue`."""
    return tuple(text.split(","))
