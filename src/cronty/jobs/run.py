"""A run: the record of what happened at one slot, and why."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, get_args

from cronty.timing.offsets import EPOCH, TICK

RunState = Literal["waiting", "running", "done", "failed", "cancelled", "skipped", "coalesced", "missed", "quarantined"]
RUN_STATES: Final[tuple[RunState, ...]] = get_args(RunState)
LIVE: Final = frozenset({"waiting", "running"})
FAILED: Final = ("failed", "quarantined")
"""The verdicts of runs that failed for good. Such a run can be redriven, and a slot that passed without a run, or was
run before, can be backfilled: it waits again, with its id and attempts."""


@dataclass(frozen=True, slots=True)
class Run:
    """`slots` > 1 means that the row covers all slots from `scheduled_for` through `through`."""

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
    backfilled: str | None = None
    """JSON of a `Backfilled`, if its slot was run after its time because somebody asked for it."""

    @property
    def run_id(self) -> str:
        return run_id(self.job_number, self.scheduled_for)


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """An attempt that was followed by another; the last one is stored in the run."""

    attempt: int
    started_at: datetime | None
    ended_at: datetime
    outcome: str
    error: str | None


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A failed run with some fields of its job."""

    run: Run
    name: str
    zone: str
    task: str
    created_at: datetime


class FailedPlace(NamedTuple):
    """Where a page of failed runs ended. Runs may fail at the same moment; job and slot tell them apart."""

    finished_at: datetime
    job_number: int = 0
    slot: datetime | None = None


@dataclass(frozen=True, slots=True)
class Absence:
    """A time in which no engine was running: from the first slot that came late until the slots were caught up on."""

    since: datetime
    until: datetime
    late: int
    coalesced: int
    missed: int
    cut: bool = False
    """Whether only the latest of very many late slots are counted."""


def run_id(job_number: int, scheduled_for: datetime) -> str:
    """The run's id as its owner sees it, made of the job's number; the same for every attempt."""
    return f"run_{job_number}_{(scheduled_for - EPOCH) // TICK}"


def message_id(job_id: int, scheduled_for: datetime, handed: int | None = None) -> str:
    """The run's id for webhook receivers, made of the job's global id. Unique across owners and the same for every
    attempt, so that a receiver can use it as an idempotency key. `handed` is the number of a message that ntfy was
    given ahead of its time: none is taken back under the id of another, however late."""
    own = f"msg_{job_id}_{(scheduled_for - EPOCH) // TICK}"
    return own if handed is None else f"{own}_{handed}"


_MESSAGE: Final = re.compile(r"msg_([0-9]{1,19})_([0-9]{1,17})")


def read_message_id(text: str) -> tuple[int, datetime] | None:
    """The job's id and the slot in a message id; None if the text isn't one."""
    found = _MESSAGE.fullmatch(text.strip())
    if found is None or int(found[1]) >= 2**63:
        return None
    return int(found[1]), EPOCH + timedelta(microseconds=int(found[2]))


_RECEIPT: Final = re.compile(r"run_([0-9]{1,19})_([0-9]{1,17})(?:#([0-9]{1,9}))?")


def receipt(job_number: int, scheduled_for: datetime, attempt: int) -> str:
    """The run's id with its attempt: it can settle the run only until the run is handed out again."""
    return f"{run_id(job_number, scheduled_for)}#{attempt}"


def read_receipt(text: str) -> tuple[int, datetime, int | None] | None:
    """The job's number, the slot and the attempt in a run id (no attempt) or a receipt; None if it is neither."""
    found = _RECEIPT.fullmatch(text.strip())
    if found is None or int(found[1]) >= 2**63:
        return None
    attempt = int(found[3]) if found[3] else None
    return int(found[1]), EPOCH + timedelta(microseconds=int(found[2])), attempt
