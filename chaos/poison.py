"""Tasks that kill, block or confuse their worker: each gets its verdict, and those beside it are done."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from chaos.fleet import Fleet, fleet
from chaos.load import EVERY_SLOT, Spec, ask, expected_runs, insert
from chaos.postgres import own_postgres
from chaos.verdict import Figures, read_traces
from cronty.store.migrate import migrate

WORKERS: Final = 2
CONCURRENCY: Final = 8
LEASE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Poison:
    """`verdict` is the state its runs must end in; None if any will do, as long as nobody else is hurt.

    `starts` is how often each may be started at most.
    """

    task: str
    verdict: str | None
    runs: int = 2
    starts: int | None = None
    error: str = ""
    policy: Mapping[str, object] = field(default_factory=dict[str, object])


_LIMITED: Final = {"timeout": 2}
KINDS: Final = {
    "suicide": Poison("suicide", "quarantined", starts=3),
    "endless": Poison("endless", "failed", 1, 1, "Timeout", _LIMITED),
    "every thread stuck": Poison("stuck", "failed", WORKERS * CONCURRENCY, 1, "Timeout", _LIMITED),
    "loop blocked": Poison("blocking", "quarantined", 1, 3),
    "huge result": Poison("huge", "done", starts=1),
    "unreadable error": Poison("unreadable", "failed", starts=1, error="_Silent"),
    "error that exits": Poison("leaving", "failed", starts=1, error="_Leaving"),
    "error that isn't text": Poison("surrogate", "failed", starts=1, error="ValueError"),
    "snoozed forever": Poison("forever", None),
}


@dataclass(frozen=True, slots=True)
class Plan:
    kinds: tuple[str, ...] = tuple(KINDS)
    bystanders: int = 60
    patience: float = 80.0


def make_load(kind: str, plan: Plan) -> list[Spec]:
    """The poison first, then bystanders at the same moment and for three seconds after it."""
    poison = KINDS[kind]
    now = datetime.now(UTC)
    policy = {**EVERY_SLOT, **poison.policy}
    taken = [Spec(poison.task, now, policy=policy) for _ in range(poison.runs)]
    beside = [
        Spec("plain" if number % 2 else "patient", now + timedelta(seconds=max(0, number - 20) * 0.075),
             arguments={"seconds": 0.02})
        for number in range(plan.bystanders)
    ]  # fmt: skip
    return taken + beside


async def swallow(url: str, workers: Fleet, kind: str, plan: Plan, first_id: int) -> Figures:
    """Fire the poison and the bystanders, keep the workers running, and see what has become of them in the end."""
    poison, specs = KINDS[kind], make_load(kind, plan)
    await insert(url, specs, first_id)
    began = time.monotonic()
    last = first_id + poison.runs - 1
    while True:
        workers.replace()
        rows = await ask(
            url, "select job_id, state::text, coalesce(error, '') as error,"
            " extract(epoch from finished_at - scheduled_for)::float8 as took"
            " from cronty.runs where job_id >= $1", first_id
        )  # fmt: skip
        ended = {row["job_id"]: row for row in rows if row["took"] is not None}
        wanted = len(specs) - (poison.runs if poison.verdict is None else 0)
        if sum(poison.verdict is not None or number > last for number in ended) >= wanted:
            break
        if time.monotonic() - began > plan.patience:
            break
        await asyncio.sleep(0.2)
    swallowed = [row for number, row in ended.items() if number <= last]
    others = [row for number, row in ended.items() if number > last]
    names = expected_runs(specs[: poison.runs], first_id)
    starts = Counter(one.run_id for one in read_traces(workers.folder) if one.run_id in names)
    return {
        "verdicts": dict(Counter(row["state"] for row in swallowed)), "starts": sorted(starts.values()),
        "wrong_verdict": poison.runs - sum(_as_wanted(poison, row["state"], row["error"]) for row in swallowed)
        if poison.verdict else 0,
        "wrong_starts": 0 if poison.starts is None else sum(not 1 <= starts[name] <= poison.starts for name in names),
        "bystanders_unfinished": plan.bystanders - len(others),
        "bystanders_hurt": sum(row["state"] != "done" for row in others),
        "bystanders_slowest": round(max((row["took"] for row in others), default=0.0), 2),
        "took": round(time.monotonic() - began, 1),
    }  # fmt: skip


def _as_wanted(poison: Poison, state: str, error: str) -> bool:
    return state == poison.verdict and error.startswith(poison.error)


async def drive(url: str, folder: Path, plan: Plan) -> Figures:
    await migrate(url)
    figures: Figures = {}
    first_id = 1
    for kind in plan.kinds:
        with fleet(url, folder, lease=LEASE, concurrency=CONCURRENCY) as workers:
            workers.start(WORKERS)
            await workers.ready()
            figures[kind] = await swallow(url, workers, kind, plan, first_id)
        first_id += 1000
        # What this one left behind must not hurt the next one.
        await ask(url, "delete from cronty.queue")
        await ask(
            url,
            "update cronty.runs set state = 'cancelled', worker = null, finished_at = now() where finished_at is null",
        )
    return figures


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres.url, folder, plan))
    promises = ("wrong_verdict", "wrong_starts", "bystanders_unfinished", "bystanders_hurt")
    wrong = [f"{kind}: {name}" for kind, some in figures.items() for name in promises if some[name]]
    return {"scenario": "poison", **figures, "broken": wrong}
