"""A fleet under load is upgraded worker by worker and rolled back: nothing is lost, doubled or stopped."""

import asyncio
import json
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from chaos import kill
from chaos.fleet import ROOT, Fleet, fleet
from chaos.load import EVERY_SLOT, ask, expected_runs, insert, run_id, until
from chaos.postgres import own_postgres
from chaos.verdict import Figures, broken, examine
from chaos.wheels import NEWER_FIELD, build

FIRST_ID: Final = 1 << 40
"""Of the jobs that are put in directly, beyond any id that a door gives out in a minute."""

_VERSIONS: Final = "select count(distinct version) from cronty.workers where lease_until > now()"
_WITHOUT_FIELD: Final = (
    "select count(*) from cronty.jobs j join cronty.owners o on o.id = j.owner_id"
    " where o.name = 'newer' and not j.policy ? $1"
)
_FINISHED: Final = "select job_id, scheduled_for from cronty.runs where finished_at is not null"
_LATEST: Final = (
    "select coalesce(max(extract(epoch from started_at - scheduled_for)), 0)::float from cronty.runs where attempt = 1"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """`duration` is how long slots fall due, `patience` how long after that they may take; seconds, both."""

    fires: int = 10_000
    workers: int = 4
    duration: float = 36.0
    patience: float = 60.0
    lease: float = 5.0
    jobs: int = 20
    seed: int = 1


@dataclass(slots=True)
class Scene:
    """Both versions, what each owner's jobs must have run, and what went wrong on the way."""

    workers: Fleet
    url: str
    old: Mapping[str, str]
    new: Mapping[str, str]
    expected: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    commands_failed: int = 0
    stubborn: int = 0
    not_started: int = 0
    versions_at_once: int = 0

    async def call(self, version: Mapping[str, str], *program: str) -> str:
        """Run a module of that version; what it printed, or nothing if it failed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *program, cwd=ROOT, env={**self.workers.environment, **version},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        if process.returncode != 0:
            self.commands_failed += 1
            self.workers.note(err)
            return ""
        return out.decode()

    async def create(
        self, version: Mapping[str, str], owner: str, plan: Plan, crons: int = 0, **policy: object
    ) -> None:
        runs, given = max(2, int(plan.duration / 2)), json.dumps({**EVERY_SLOT, **policy})
        made = await self.call(
            version, "chaos.door", "create", owner, f"--jobs={plan.jobs}", f"--runs={runs}", f"--crons={crons}",
            f"--policy={given}",
        )  # fmt: skip
        for job_id, first, count in json.loads(made or "[]"):
            slots = (datetime.fromisoformat(first) + timedelta(seconds=number) for number in range(count))
            self.expected[owner].update(run_id(job_id, slot) for slot in slots)

    async def exchange(self, version: Mapping[str, str]) -> None:
        """The oldest worker leaves, and one of that version takes its place."""
        leaving = self.workers.workers.pop(0)
        self.workers.past.append(leaving)
        leaving.process.terminate()
        try:
            await asyncio.to_thread(leaving.process.wait, 20)
        except subprocess.TimeoutExpired:
            leaving.kill()
            self.stubborn += 1
        self.workers.start(1, version)
        try:
            await self.workers.ready(20)
        except RuntimeError:
            self.not_started += 1
        alive = (await ask(self.url, _VERSIONS))[0][0]
        self.versions_at_once = max(self.versions_at_once, alive)

    async def exchange_all(self, version: Mapping[str, str], plan: Plan, begins: float, ends: float) -> None:
        for number in range(1, plan.workers):
            await self.exchange(version)
            await asyncio.sleep(max(0.0, begins + (ends - begins) * number / plan.workers - time.monotonic()))
        await self.exchange(version)


async def drive(scene: Scene, plan: Plan, folder: Path) -> Figures:
    old, new, workers = scene.old, scene.new, scene.workers
    await scene.call(old, "cronty.cli.main", "migrate")
    workers.start(plan.workers, old)
    await workers.ready()
    load = kill.Plan(fires=plan.fires, duration=plan.duration)
    specs = kill.make_load(load, datetime.now(UTC) + timedelta(seconds=2), random.Random(plan.seed))
    scene.expected["chaos"] = expected_runs(specs, FIRST_ID)
    await insert(scene.url, specs, FIRST_ID)
    begins = time.monotonic() + 2
    await scene.create(old, "older", plan, crons=3)

    # up: the schema first, then worker by worker; jobs with the new field are there while old workers still fire
    await scene.call(new, "cronty.cli.main", "migrate")
    await scene.call(old, "cronty.cli.main", "migrate", "--check")
    await scene.exchange(new)
    await asyncio.gather(
        scene.create(new, "newer", plan, crons=3, **{NEWER_FIELD: 3}),
        scene.exchange_all(new, _fewer(plan), time.monotonic(), begins + plan.duration * 0.4),
    )
    await scene.create(new, "newer", plan, **{NEWER_FIELD: 3})

    # and down again: old doors change what new ones made, old workers fire it
    await scene.exchange_all(old, plan, time.monotonic(), begins + plan.duration * 0.8)
    await scene.call(old, "chaos.door", "edit", "newer")
    await scene.create(old, "older", plan)

    everything = set[str]().union(*scene.expected.values())
    await asyncio.sleep(max(0.0, begins + plan.duration - time.monotonic()))
    settled = await until(
        scene.url, "select count(*) >= $1 from cronty.runs where finished_at is not null", plan.patience,
        len(everything),
    )  # fmt: skip
    took = time.monotonic() - begins
    scene.stubborn += workers.retire()
    return {
        "scenario": "upgrade", "settled_in_time": settled, "took": round(took, 1),
        "versions_at_once": scene.versions_at_once, "commands_failed": scene.commands_failed,
        "workers_died": workers.died, "workers_not_started": scene.not_started, "stubborn": scene.stubborn,
        "errors_logged": workers.log.count(" ERROR "), "latest_start": await _latest(scene.url),
        "others_stopped": await _stopped(scene),
        "fields_lost": (await ask(scene.url, _WITHOUT_FIELD, NEWER_FIELD))[0][0],
        **await examine(scene.url, folder, everything),
    }  # fmt: skip


def _fewer(plan: Plan) -> Plan:
    return Plan(workers=plan.workers - 1, jobs=plan.jobs)


async def _latest(url: str) -> float:
    return round((await ask(url, _LATEST))[0][0], 1)


async def _stopped(scene: Scene) -> int:
    """Jobs of owners who never had the new field, with a slot that has no verdict."""
    finished = {run_id(row["job_id"], row["scheduled_for"]) for row in await ask(scene.url, _FINISHED)}
    others = (runs for owner, runs in scene.expected.items() if owner != "newer")
    return len({run.rsplit("_", 1)[0] for runs in others for run in runs - finished})


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        old = {"PYTHONPATH": str(build(folder / "old"))}
        new = {"PYTHONPATH": str(build(folder / "new", newer=True))}
        with fleet(postgres.url, folder, lease=plan.lease) as workers:
            figures = asyncio.run(drive(Scene(workers, postgres.url, old, new), plan, folder))
    more = ["commands_failed", "others_stopped", "fields_lost", "workers_died", "workers_not_started", "stubborn"]
    unmixed = [] if figures["versions_at_once"] == 2 else ["versions_at_once"]
    return figures | {"broken": [*broken(figures, *more), *unmixed]}
