"""Writes down how attempts ended, in sets, fenced by attempt and worker."""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.engine.attempt import Attempt
from cronty.engine.breaker import hold_failing
from cronty.engine.working import Working
from cronty.jobs.outcome import Done, Failed, Interrupted, Snoozed
from cronty.jobs.retry import after_attempt
from cronty.store.database import StoreUnavailable
from cronty.store.engine_store import EngineStore, Other, Success

BATCH: Final = 1000


class Settling:
    """A batch that couldn't be written is kept and written again: the fence makes repeating it safe."""

    def __init__(self, store: EngineStore, working: Working, requeued: Callable[[], None]) -> None:
        self._store = store
        self._working = working
        self._tell_requeued = requeued
        self._held: list[Attempt] = []

    @property
    def held(self) -> list[Attempt]:
        """Attempts whose settlement is being written."""
        return self._held

    async def step(self) -> float:
        """Settle what has ended; 0 if there may be more."""
        if not self._held:
            self._held = self._working.take_ended(BATCH)
        if not self._held:
            return float("inf")
        by_worker: dict[int, list[Attempt]] = defaultdict(list)
        for attempt in self._held:
            by_worker[attempt.worker].append(attempt)
        for worker, attempts in by_worker.items():
            try:
                await self._settle(worker, attempts)
            except StoreUnavailable:
                raise
            except Exception as error:
                telemetry.settlement_refused(len(attempts), error)
                await self._settle_each(worker, attempts)
        settled, self._held = self._held, []
        self._working.settled(settled)
        return 0

    async def _settle_each(self, worker: int, attempts: Sequence[Attempt]) -> None:
        """One of them holds something that can't be written; the others must not suffer for it."""
        for attempt in attempts:
            try:
                await self._settle(worker, [attempt])
            except StoreUnavailable:
                raise
            except Exception as error:
                attempt.outcome = Failed(f"Its outcome could not be written: {type(error).__name__}", permanent=True)
                await self._settle(worker, [attempt])

    async def _settle(self, worker: int, attempts: Sequence[Attempt]) -> None:
        now = monotonic()
        successes: list[Success] = []
        others: list[Other] = []
        for one in attempts:
            outcome = one.outcome
            took, ago = one.ended - one.started, now - one.ended
            if isinstance(outcome, Done):
                successes.append(Success(one.job_id, one.slot, one.number, outcome.result, ago, took))
            else:
                others.append(_other(one, ago, took))
        accepted = 0
        if successes:
            accepted += await self._store.settle_done(worker, successes)
        failed: list[int] = []
        if others:
            settled, failed = await self._store.settle_rest(worker, others)
            accepted += settled
        if accepted < len(attempts):
            late = [(one.job_id, one.slot, one.number, _reported(one)) for one in attempts]
            if count := await self._store.mark_superseded(worker, late):
                telemetry.superseded(count)
        if failed:
            reasons = {one.job_id: one.outcome.gone for one in attempts if isinstance(one.outcome, Failed)}
            await hold_failing(self._store, [(job_id, reasons.get(job_id)) for job_id in failed])
        await self._after(attempts, others)

    async def _after(self, attempts: Sequence[Attempt], others: Sequence[Other]) -> None:
        """What a settlement means to others: the job's failures, and runs that waited for this one."""
        recovered = [one.job_id for one in attempts if one.failing and isinstance(one.outcome, Done)]
        if recovered:
            await self._store.clear_failing(recovered)
        if (in_turn := _in_turn(attempts)) and await self._store.release_lines(in_turn):
            self._tell_requeued()
        if any(one.wait is not None for one in others):
            self._tell_requeued()


def _in_turn(attempts: Sequence[Attempt]) -> list[int]:
    """Jobs of which a run may stand in line. An ordinary fire of a job that skips overlaps leaves none behind."""
    return sorted(
        {
            one.job_id
            for one in attempts
            if one.policy.overlap in ("queue", "cancel_previous")
            or (one.policy.serial and (one.policy.catch_up == "all" or one.from_queue))
        }
    )


def _other(one: Attempt, ago: float, took: float) -> Other:
    assert one.outcome is not None
    settlement = after_attempt(one.outcome, one.failures, one.policy, random.random())
    label = None
    if settlement.wait is not None:
        label = (
            "failed"
            if isinstance(one.outcome, Failed)
            else "snoozed"
            if isinstance(one.outcome, Snoozed)
            else "interrupted"
        )
    wait = None if settlement.wait is None else settlement.wait.total_seconds()
    return Other(
        one.job_id,
        one.slot,
        one.number,
        settlement.state,
        wait,
        settlement.error,
        settlement.reason,
        label,
        ago,
        took,
    )


def _reported(one: Attempt) -> str:
    match one.outcome:
        case Done():
            return "it reported success, too late"
        case Failed(error):
            return f"it reported a failure, too late: {error}"
        case Interrupted():
            return "it was interrupted"
        case other:
            return f"it reported {type(other).__name__.lower()}, too late"
