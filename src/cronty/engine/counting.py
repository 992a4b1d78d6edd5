"""Counts what the engine did, for Prometheus, when it is committed."""

from collections.abc import Sequence

from cronty import metrics
from cronty.engine.attempt import Attempt
from cronty.engine.batch import Batch
from cronty.jobs.action import kind_of
from cronty.store.database import Row
from cronty.store.engine_store import DueJobs


def count_fired(due: DueJobs, batch: Batch) -> None:
    """Due jobs, how late each was, and what became of their slots."""
    if not due.rows:
        return
    metrics.DUE.add(len(due.rows))
    moment, observe = due.moment, metrics.START_LAG.observe
    for row in due.rows:
        observe((moment - row[2]).total_seconds())  # by its place, as in `Firing`: 2 is when it was due
    fired = len(batch.attempts)
    for moved in batch.moved:
        for made in moved.rows:
            if made.state == "waiting":
                fired += 1
            else:
                metrics.VERDICT.add(made.slots, made.state)
    metrics.FIRED.add(fired)


def count_claimed(rows: Sequence[Row]) -> None:
    for row in rows:
        metrics.QUEUE_WAIT.observe(max(0.0, row["waited"]))


def count_attempts(attempts: Sequence[Attempt]) -> None:
    for one in attempts:
        metrics.ATTEMPTS.add(1, kind_of(one.task.name), type(one.outcome).__name__.lower())
