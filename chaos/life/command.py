"""Live through seeds and say in figures what held; replay one, or leave out of it whatever isn't needed to break it."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chaos.life.choices import Cuts
from chaos.life.product import reconnect_only_when_asked, simulated
from chaos.life.server import Server
from chaos.life.stage import Stage
from chaos.life.world import World
from chaos.verdict import Figures

NOTHING: Final = Cuts()


@dataclass(frozen=True, slots=True)
class Plan:
    """`steps` are divided among the seeds; `only` are the promises to look at, all if empty."""

    steps: int = 50_000
    seeds: tuple[int, ...] = (7,)
    only: tuple[str, ...] = ()
    replay: bool = False
    go_on: bool = False
    no: tuple[str, ...] = ()


async def live(
    server: Server, seed: int, steps: int, cuts: Cuts = NOTHING, *, traced: bool = False, only: Sequence[str] = ()
) -> Stage:
    """One life; what it was like is on its stage."""
    world = World(await server.fresh(), seed, cuts, traced=traced, only=only)
    with simulated(world.stage):
        await world.run(steps)
    return world.stage


async def drive(plan: Plan) -> Figures:
    server = Server()
    began = time.monotonic()
    total: Counter[str] = Counter()
    injected: Counter[str] = Counter()
    days = 0.0
    broken: list[str] = []
    digests: list[str] = []
    try:
        await server.prepare()
        reconnect_only_when_asked()
        share = -(-plan.steps // len(plan.seeds))
        for seed in plan.seeds:
            stage = await live(server, seed, share, Cuts(kinds=frozenset(plan.no)), traced=plan.replay, only=("nothing",) if plan.go_on else plan.only)
            if plan.replay:
                print(*stage.trace or [], sep="\n")
            total.update(steps=stage.steps, statements=stage.statements)
            injected.update(stage.injected)
            days += stage.days()
            digests.append(stage.digest)
            found = {kind: said for kind, said in stage.first.items() if not plan.only or kind in plan.only}
            for step, said in found.values():
                broken.append(f"seed {seed} step {step}: {said}")
                print(broken[-1], f"python -m chaos life --seed {seed} --steps {share} --replay", sep="\n  ", file=sys.stderr)
    finally:
        server.close()
    took = time.monotonic() - began
    return {
        "scenario": "life", "seeds": len(plan.seeds), **total, "days": round(days, 2), "faults": dict(sorted(injected.items())),
        "seconds": round(took, 1), "digest": digests[-1] if len(digests) == 1 else "", "broken": broken,
    }  # fmt: skip


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` names the promises that don't hold."""
    return asyncio.run(drive(plan))
