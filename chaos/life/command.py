"""Live through seeds and say in figures what held; replay one, or shrink it to what a person can read."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chaos.life.choices import NO_CUTS, Cuts
from chaos.life.mends import MENDS, taken_out
from chaos.life.server import Server
from chaos.life.shrink import shrink
from chaos.life.simulated import simulated
from chaos.life.stage import Stage
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

    @property
    def looks_at(self) -> tuple[str, ...]:
        return self.only or (MENDS[self.without_mend].found_as if self.without_mend else ())

    @property
    def share(self) -> int:
        """Steps of each seed."""
        return -(-self.steps // len(self.seeds))


class Lives:
    """Lives of a plan, one after the other on one server."""

    def __init__(self, server: Server, plan: Plan) -> None:
        self._server, self._plan = server, plan

    async def live(
        self, seed: int, steps: int, cuts: Cuts = NO_CUTS, *, only: Sequence[str] = (), traced: bool = False
    ) -> Stage:
        """One life; what it was like is on its stage."""
        cuts = cuts._replace(kinds=cuts.kinds | set(self._plan.no))
        world = World(await self._server.fresh(), seed, cuts, traced=traced, only=only)
        with simulated(world.stage), taken_out(self._plan.without_mend):
            await world.run(steps)
        return world.stage


async def drive(plan: Plan) -> Figures:
    server = Server()
    began = time.monotonic()
    lived: list[Stage] = []
    broken: list[str] = []
    try:
        await server.prepare()
        lives = Lives(server, plan)
        for seed in plan.seeds:
            only = NOTHING if plan.go_on else plan.looks_at
            lived.append(await lives.live(seed, plan.share, only=only, traced=plan.replay))
            print(*lived[-1].trace or (), sep="\n", end="\n" if plan.replay else "")
            for step, kind, said in lived[-1].found(plan.looks_at):
                broken.append(f"seed {seed} step {step}: {said}")
                print(broken[-1], _replay(plan, seed), sep="\n  ", file=sys.stderr)
                if plan.shrink:
                    await shrink(lives.live, seed, kind, step, plan.budget)
            if broken and plan.without_mend:
                break  # it is found
    finally:
        server.close()
    injected = sum((stage.injected for stage in lived), Counter[str]())
    return {
        "scenario": "life", "seeds": len(plan.seeds), "steps": sum(stage.steps for stage in lived),
        "statements": sum(stage.statements for stage in lived), "days": round(sum(stage.days() for stage in lived), 2),
        "faults": sum(injected.values()), "of_kind": dict(sorted(injected.items())),
        "seconds": round(time.monotonic() - began, 1), "digests": [stage.digest for stage in lived][:5],
        "broken": broken,
    }  # fmt: skip


def _replay(plan: Plan, seed: int) -> str:
    more = [f"--without-mend {plan.without_mend}"] if plan.without_mend else []
    more += [f"--no {','.join(plan.no)}"] if plan.no else []
    return " ".join([f"python -m chaos life --seed {seed} --steps {plan.share}", *more, "--replay"])


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` names the promises that don't hold."""
    return asyncio.run(drive(plan))


def read_seeds(text: str) -> tuple[int, ...]:
    """`7`, or `1-60`."""
    first, _, last = text.partition("-")
    return tuple(range(int(first), int(last or first) + 1))


def read_names(text: str) -> tuple[str, ...]:
    """`overlap,untrue`."""
    return tuple(text.split(","))
