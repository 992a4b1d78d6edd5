"""Writes how attempts ended, many at once. A write applies only if the run still has this attempt and this worker."""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from time import monotonic
from typing import Final

from cronty import metrics, telemetry, tracing
from cronty.engine.attempt import Attempt
from cronty.engine.breaker import Breaker
from cronty.engine.counting import count_attempts
from cronty.engine.working import Working
from cronty.jobs.outcome import Done, Failed, Interrupted, Snoozed, name_of
from cronty.jobs.retry import after_attempt
from cronty.jobs.task_settings import OWN
from cronty.store.database import StoreBusy, StoreUnavailable
from cronty.store.engine_store import EngineStore, Other, Success
from cronty.store.faults import is_unwritable
from cronty.store.task_limit_store import TaskLimitStore

BATCH: Final = 1000
REFUSED_REST: Final = 5.0
"""Seconds between two tries to write an outcome that was refused on its own."""

LONGEST_HOLD: Final = timedelta(days=1)
"""A run may keep others under its limit from starting for so long, whatever it was told."""


class Settling:
    """An outcome is kept until it is written. Trying again is safe, because a second write doesn't apply.

    Only an outcome whose value can't be stored is replaced by a failure.
    """

    def __init__(
        self, store: EngineStore, limits: TaskLimitStore, working: Working, requeued: Callable[[], None]
    ) -> None:
        self._store = store
        self._limits = limits
        self._working = working
        self._tell_requeued = requeued
        self._batch: list[Attempt] = []
        self._refused: list[Attempt] = []
        self._try_refused_at = 0.0
        self._breaker = Breaker(store)

    @property
    def held(self) -> list[Attempt]:
        """Attempts whose settlement is being written."""
        return [*self._batch, *self._refused]

    async def step(self) -> float:
        """Settle attempts that have ended; 0 if there may be more."""
        if not self._batch:
            self._batch = self._working.take_ended(BATCH)
        rest = 0.0 if self._batch else float("inf")
        for attempts in _by_worker(self._batch):
            await self._settle_all(attempts)
        if self._refused:
            rest = min(rest, await self._try_refused())
        return min(rest, await self._breaker.step())

    async def _settle_all(self, attempts: Sequence[Attempt]) -> None:
        """Settle one worker's attempts together, or one by one if that fails: one of them may be the cause."""
        try:
            await self._settle(attempts[0].worker, attempts)
        except StoreUnavailable as error:
            if not isinstance(error, StoreBusy):
                raise
            for attempt in attempts:
                await self._settle_one(attempt)
        except Exception as error:
            telemetry.settlement_refused(len(attempts), error)
            for attempt in attempts:
                await self._settle_one(attempt)
        else:
            self._written(attempts)

    async def _settle_one(self, attempt: Attempt) -> None:
        try:
            try:
                await self._settle(attempt.worker, [attempt])
            except Exception as error:
                if not is_unwritable(error):
                    raise
                await self._settle_instead(attempt, error)
        except StoreBusy as error:  # its rows are locked; those of the other attempts may not be
            self._keep(attempt, error)
        except StoreUnavailable:
            raise
        except Exception as error:
            self._keep(attempt, error)
        else:
            self._written([attempt])

    async def _settle_instead(self, attempt: Attempt, error: Exception) -> None:
        """Settle an outcome that can't be stored as a failure; the outcome is kept until that is written."""
        outcome = attempt.outcome
        attempt.outcome = Failed(f"Its outcome could not be written: {type(error).__name__}", permanent=True)
        try:
            await self._settle(attempt.worker, [attempt])
        except BaseException:
            attempt.outcome = outcome
            raise

    def _keep(self, attempt: Attempt, error: Exception) -> None:
        """Keep an outcome that can't be written for an unknown reason: it must not be lost or block the others."""
        if attempt not in self._refused:
            telemetry.settlement_kept(attempt.job_id, error)
            self._batch.remove(attempt)
            self._refused.append(attempt)
        self._try_refused_at = monotonic() + REFUSED_REST

    async def _try_refused(self) -> float:
        if (rest := self._try_refused_at - monotonic()) > 0:
            return rest
        for attempt in list(self._refused):
            await self._settle_one(attempt)
        return REFUSED_REST

    def _written(self, attempts: Sequence[Attempt]) -> None:
        written = set(attempts)
        self._batch = [one for one in self._batch if one not in written]
        self._refused = [one for one in self._refused if one not in written]
        count_attempts(attempts)
        if tracing.on():
            _end_spans(attempts)
        self._working.settled(attempts)

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
        if others and (holds := _holds(attempts, now)):
            await self._limits.hold(holds)
        accepted = 0
        told = [(one.job_id, one.slot) for one in attempts if one.policy.tell]
        if successes:
            accepted += await self._store.settle_done(worker, successes, told)
            metrics.VERDICT.add(accepted, "done")
        failed: list[int] = []
        if others:
            settled, failed = await self._store.settle_rest(worker, others, told)
            accepted += settled
            for one in others[:settled]:
                if one.wait is None:
                    metrics.VERDICT.add(1, one.state)
        if failed:
            reasons = {one.job_id: one.outcome.gone for one in attempts if isinstance(one.outcome, Failed)}
            self._breaker.failed((job_id, reasons.get(job_id)) for job_id in failed)
        if accepted < len(attempts):
            late = [(one.job_id, one.slot, one.number, _reported(one)) for one in attempts]
            if count := await self._store.mark_superseded(worker, late):
                telemetry.superseded(count)
                metrics.SUPERSEDED.add(count)
        await self._breaker.step()
        await self._after(attempts, others)

    async def _after(self, attempts: Sequence[Attempt], others: Sequence[Other]) -> None:
        """Update what depends on these attempts: the jobs' failures, and runs that waited for them."""
        recovered = [one.job_id for one in attempts if one.failing and isinstance(one.outcome, Done)]
        if recovered:
            await self._store.clear_failing(recovered)
        if jobs := _jobs_with_lines(attempts):
            with suppress(StoreBusy):  # the job is locked; the next look at all lines moves it on
                if await self._store.release_lines(jobs):
                    self._tell_requeued()
        if any(one.wait is not None for one in others) or any(one.limits for one in attempts):
            self._tell_requeued()


def _end_spans(attempts: Sequence[Attempt]) -> None:
    for one in attempts:
        if one.spans is not None and one.outcome is not None:
            one.spans.settled(name_of(one.outcome))


def _jobs_with_lines(attempts: Sequence[Attempt]) -> list[int]:
    """Jobs that may have runs in line. An ordinary fire of a job that skips overlaps leaves none."""
    return sorted(
        {
            one.job_id
            for one in attempts
            if one.policy.overlap in ("queue", "cancel_previous")
            or (one.policy.serial and (one.policy.catch_up == "all" or one.from_queue))
        }
    )


def _holds(attempts: Sequence[Attempt], now: float) -> dict[str, float]:
    """The limits under which nothing may start, as one of these attempts was told outside; for how many seconds."""
    holds: dict[str, float] = {}
    for one in attempts:
        if one.limits and isinstance(one.outcome, Failed) and one.outcome.wait:
            left = min(one.outcome.wait, LONGEST_HOLD).total_seconds() - (now - one.ended)
            holds |= {name: max(left, holds.get(name, 0.0)) for name in one.limits if not name.startswith(OWN)}
    return holds


def _by_worker(attempts: Sequence[Attempt]) -> list[list[Attempt]]:
    grouped: dict[int, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        grouped[attempt.worker].append(attempt)
    return list(grouped.values())


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
        one.outcome.traceback if isinstance(one.outcome, Failed) else None,
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
