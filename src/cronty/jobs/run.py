"""The record of one slot: what became of it, and why."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

RunState = Literal["waiting", "running", "done", "failed", "cancelled", "skipped", "coalesced", "missed", "quarantined"]
LIVE: Final = frozenset({"waiting", "running"})
EXECUTED: Final = frozenset({"waiting", "running", "done", "failed", "cancelled", "quarantined"})

MOVES: Final[dict[RunState, frozenset[RunState]]] = {
    "waiting": frozenset({"running", "cancelled", "done", "failed", "missed"}),
    "running": frozenset({"done", "failed", "cancelled", "waiting", "quarantined"}),
    "done": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
    "skipped": frozenset(),
    "coalesced": frozenset(),
    "missed": frozenset(),
    "quarantined": frozenset(),
}
"""Which state may follow which. A prompt waits until its agent gives it a verdict; what waits too
long expires, and was missed. A verdict is final, unless somebody
asks for a failed or quarantined run to be tried again: then it goes back to waiting, with its id and its attempts."""


@dataclass(frozen=True, slots=True)
class Run:
    """`slots` > 1 means that one row speaks for all slots from `scheduled_for` through `through`."""

    job_number: int
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
    next_attempt_at: datetime | None = None

    @property
    def run_id(self) -> str:
        return run_id(self.job_number, self.scheduled_for)


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """An attempt that wasn't its run's last."""

    attempt: int
    started_at: datetime | None
    ended_at: datetime
    outcome: str
    error: str | None


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that failed, and whose job it was."""

    run: Run
    name: str
    zone: str
    task: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Absence:
    """A time in which nothing was running, as its slots tell: from the first of them until they were caught up on."""

    since: datetime
    until: datetime
    late: int
    coalesced: int
    missed: int


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def run_id(job_number: int, scheduled_for: datetime) -> str:
    """The run's name for its owner, by the owner's number of its job; the same for every attempt."""
    return f"run_{job_number}_{(scheduled_for - _EPOCH) // _MICROSECOND}"


def message_id(job_id: int, scheduled_for: datetime) -> str:
    """The run's name for receivers that serve many owners, by the job's global id: no other run has it, so it serves as
    an idempotency key. The same for every attempt."""
    return f"msg_{job_id}_{(scheduled_for - _EPOCH) // _MICROSECOND}"


_MESSAGE: Final = re.compile(r"msg_([0-9]{1,19})_([0-9]{1,17})")


def read_message_id(text: str) -> tuple[int, datetime] | None:
    """The run that a message id names, by the job's id and the slot; None if it isn't one."""
    found = _MESSAGE.fullmatch(text.strip())
    if found is None or int(found[1]) >= 2**63:
        return None
    return int(found[1]), _EPOCH + timedelta(microseconds=int(found[2]))


_RECEIPT: Final = re.compile(r"run_([0-9]{1,19})_([0-9]{1,17})(?:#([0-9]{1,9}))?")


def receipt(job_number: int, scheduled_for: datetime, attempt: int) -> str:
    """The run's name with the attempt it was read in: good for settling it only as long as nobody read it again."""
    return f"{run_id(job_number, scheduled_for)}#{attempt}"


def read_receipt(text: str) -> tuple[int, datetime, int | None] | None:
    """The run that a run id or a receipt names, by job number and slot, and the attempt if it names one; None if it is
    neither."""
    found = _RECEIPT.fullmatch(text.strip())
    if found is None or int(found[1]) >= 2**63:
        return None
    attempt = int(found[3]) if found[3] else None
    return int(found[1]), _EPOCH + timedelta(microseconds=int(found[2])), attempt
