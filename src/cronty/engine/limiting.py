"""Holds back what goes over an owner's limits: wakes of an agent, and runs, by the hour.

Wakes are counted for everybody, one statement for all of a batch; a batch without prompts pays nothing. Runs are
counted only for owners that have such a limit. What is over gets its verdict like any other slot that isn't run.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from time import monotonic
from typing import Final, NamedTuple

from cronty import telemetry
from cronty.engine.batch import Batch
from cronty.jobs.action import ROUTED
from cronty.jobs.limits import Limits, excess, held_runs, held_wakes, hour_of, read_limits, wakes_of
from cronty.store.engine_store import DueJobs, EngineStore

REFRESH_EVERY: Final = 10.0
"""How soon an owner's new limits are heard of."""

RUNS: Final = "runs"


class Use(NamedTuple):
    """A slot that is to be run."""

    owner_id: int
    job_id: int
    slot: datetime
    agent: str | None


class Limiting:
    """`defaults` hold for owners without limits of their own."""

    def __init__(self, store: EngineStore, defaults: Limits) -> None:
        self._store = store
        self._defaults = defaults
        self._own: dict[int, Limits] = {}
        self._fresh_until = 0.0
        self._runs_are_limited = False

    async def refresh(self) -> None:
        """Hear of limits that have changed, every few seconds."""
        if monotonic() < self._fresh_until:
            return
        found = await self._store.limited_owners()
        self._own = {owner: read_limits(self._defaults, given) for owner, given in found.items()}
        self._runs_are_limited = any(one.runs_per_hour for one in (self._defaults, *self._own.values()))
        self._fresh_until = monotonic() + REFRESH_EVERY

    async def hold(self, due: DueJobs, batch: Batch, now: datetime) -> None:
        """Turn what is over a limit into verdicts, and say so the first time in an hour."""
        asked: dict[tuple[int, str], list[Use]] = defaultdict(list)
        for use in _uses(batch, with_tasks=self._runs_are_limited):
            if use.agent is not None and self._of(use.owner_id).wakes_per_hour:
                asked[use.owner_id, wakes_of(use.agent)].append(use)
            if self._of(use.owner_id).runs_per_hour:
                asked[use.owner_id, RUNS].append(use)
        if not asked:
            return
        hour = hour_of(now)
        used = await due.count_uses([(*key, hour, len(uses)) for key, uses in asked.items()])
        over: dict[tuple[int, datetime], str] = {}
        told: list[tuple[int, int, str, str]] = []
        for (owner_id, what), uses in asked.items():
            limits = self._of(owner_id)
            most = limits.runs_per_hour if what == RUNS else limits.wakes_per_hour
            reason = held_runs(limits) if what == RUNS else held_wakes(limits, uses[0].agent or "")
            count = used[owner_id, what]
            held = uses[len(uses) - excess(len(uses), count, most) :]
            over |= {(use.job_id, use.slot): reason for use in held}
            if held and count - len(uses) <= most:
                telemetry.limit_reached(owner_id, reason)
                said = f"Slots are skipped until the hour is over: {reason}."
                told.append((owner_id, held[0].job_id, said, limits.alert))
        if over:
            batch.skip(over)
        if told:
            await due.tell_held(now, told)

    def _of(self, owner_id: int) -> Limits:
        return self._own.get(owner_id, self._defaults)


def _uses(batch: Batch, *, with_tasks: bool) -> Iterable[Use]:
    """What of a batch is to be run: every prompt, and tasks if they count."""
    fired = batch.fired
    for position, attempt in enumerate(batch.attempts):
        name = attempt.task.name
        agent = name.removeprefix(ROUTED) if name.startswith(ROUTED) else None
        if with_tasks or agent is not None:
            yield Use(fired.owner_ids[position], attempt.job_id, attempt.slot, agent)
    for moved in batch.moved:
        if with_tasks or moved.agent is not None:
            for row in moved.rows:
                if row.state == "waiting":
                    yield Use(moved.owner_id, moved.job_id, row.slot, moved.agent)
