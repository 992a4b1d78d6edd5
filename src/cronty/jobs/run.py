"""The record of one slot: what became of it, and why."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

RunState = Literal["waiting", "running", "done", "failed", "cancelled", "skipped", "coalesced", "missed", "quarantined"]
LIVE: Final = frozenset({"waiting", "running"})
EXECUTED: Final = frozenset({"waiting", "running", "done", "failed", "cancelled", "quarantined"})

MOVES: Final[dict[RunState, frozenset[RunState]]] = {
    "waiting": frozenset({"running", "cancelled"}),
    "running": frozenset({"done", "failed", "cancelled", "waiting", "quarantined"}),
    "done": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
    "skipped": frozenset(),
    "coalesced": frozenset(),
    "missed": frozenset(),
    "quarantined": frozenset(),
}
"""Which state may follow which. A verdict is final."""


@dataclass(frozen=True, slots=True)
class Run:
    """`slots` > 1 means that one row speaks for all slots from `scheduled_for` through `through`."""

    job_id: int
    scheduled_for: datetime
    state: RunState
    attempt: int
    slots: int
    through: datetime | None
    manual: bool
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    error: str | None
    result: str | None

    @property
    def run_id(self) -> str:
        return run_id(self.job_id, self.scheduled_for)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def run_id(job_id: int, scheduled_for: datetime) -> str:
    """The run's name outside: the same for every attempt, so it serves as an idempotency key."""
    return f"run_{job_id}_{(scheduled_for - _EPOCH) // _MICROSECOND}"
