"""A program with hundreds of schedules in its code is deployed again and again, while they fire. During each deploy a
process of the old version starts once more beside the first one of the new: in the end the schedules are those of the
last version, each once, and no slot is lost."""

import asyncio
import random
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from chaos.load import ask
from chaos.postgres import own_postgres
from chaos.verdict import Figures
from cronty import Cronty
from cronty.store.migrate import migrate

CHANGED: Final = 0.2
GONE: Final = 0.05
"""Shares of the schedules that a deploy changes, or takes out of the code; those come back with the next one."""

SECONDS: Final = (5, 10, 15, 20, 30)

_STORED: Final = """
select j.name, j.said, j.state = 'active' as active, count(*) over (partition by j.name)::int as of_this_name
from cronty.jobs j
where j.deleted_at is null and exists (select from unnest(j.tags) tag where tag like 'code:%')"""


@dataclass(frozen=True, slots=True)
class Plan:
    schedules: int = 500
    deploys: int = 20
    seed: int = 1


def versions(plan: Plan) -> list[dict[str, str]]:
    """The schedules of each version, by name."""
    chance = random.Random(plan.seed)
    every = {f"schedule {number}": _drawn(chance) for number in range(plan.schedules)}
    made: list[dict[str, str]] = []
    for _ in range(plan.deploys):
        every = {name: _drawn(chance) if chance.random() < CHANGED else when for name, when in every.items()}
        made.append({name: when for name, when in every.items() if chance.random() >= GONE})
    return made


def program(url: str, schedules: Mapping[str, str]) -> Cronty:
    cronty = Cronty(url)

    @cronty.task
    async def work() -> None: ...

    cronty.schedules([work.options(name=name).every(when) for name, when in schedules.items()])
    return cronty


def run(plan: Plan) -> Figures:
    with own_postgres() as (postgres, _):
        return asyncio.run(drive(postgres.url, plan))


async def drive(url: str, plan: Plan) -> Figures:
    await migrate(url)
    began = time.monotonic()
    before: dict[str, str] = {}
    async with AsyncExitStack() as running:
        for schedules in versions(plan):
            async with AsyncExitStack() as new:
                pods = [program(url, schedules)]
                if before:
                    pods.append(program(url, before))  # one of the old version starts again, at the same time
                await asyncio.gather(*(new.enter_async_context(pod) for pod in pods))
                await running.aclose()
                await running.enter_async_context(program(url, schedules))
            before = schedules
    stored = await ask(url, _STORED)
    [[unaccounted]] = await ask(url, "select count(*) from cronty.slots_unaccounted")
    [[fires]] = await ask(url, "select count(*) from cronty.runs where state = 'done'")
    active = {row["name"]: row["said"] for row in stored if row["active"]}
    figures: Figures = {
        "scenario": "deploys", "schedules": plan.schedules, "deploys": plan.deploys, "fires": fires,
        "wrong": sum(active.get(name) != when for name, when in before.items()),
        "left_over": len(active.keys() - before.keys()), "twice": sum(row["of_this_name"] > 1 for row in stored),
        "slots_unaccounted": unaccounted, "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    figures["broken"] = [name for name in ("wrong", "left_over", "twice", "slots_unaccounted") if figures[name]]
    return figures


def _drawn(chance: random.Random) -> str:
    return f"every {chance.choice(SECONDS)} seconds"
