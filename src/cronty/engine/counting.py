"""Counts what the engine did, for Prometheus, when it is committed."""

from collections import Counter
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
    moment = due.moment
    # By its place, as in `Firing`: 2 is when it was due.
    metrics.START_LAG.observe([(moment - row[2]).total_seconds() for row in due.rows])
    fired = len(batch.attempts)
    for moved in batch.moved:
        for made in moved.rows:
            if made.state == "waiting":
                fired += 1
            else:
                metrics.VERDICT.add(made.slots, made.state)
    metrics.FIRED.add(fired)


def count_claimed(rows: Sequence[Row]) -> None:
    metrics.QUEUE_WAIT.observe([max(0.0, row["waited"]) for row in rows])


def count_attempts(attempts: Sequence[Attempt]) -> None:
    for (task, outcome), count in Counter((one.task.name, type(one.outcome)) for one in attempts).items():
        metrics.ATTEMPTS.add(count, kind_of(task), outcome.__name__.lower())
