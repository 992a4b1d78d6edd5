"""Turns a plan into run rows, after applying the overlap policy."""

from collections.abc import Set
from dataclasses import dataclass
from datetime import datetime

from cronty.jobs.policy import Overlap
from cronty.jobs.run import RunState
from cronty.timing import Plan

OVERLAPPED = "the run before it had not ended"


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row to insert; one whose state is `waiting` will be run."""

    slot: datetime
    state: RunState
    followed_by: datetime | None
    through: datetime | None = None
    slots: int = 1
    reason: str | None = None


def rows_of(plan: Plan, overlap: Overlap, *, in_flight: bool, sent: Set[datetime] = frozenset()) -> list[RunRow]:
    """The rows of a plan in time order; `in_flight` means that an earlier run of the job hasn't ended. A slot whose
    notification is `sent` already isn't skipped."""
    rows = [
        RunRow(past.first, past.verdict, past.followed_by, past.through, past.slots, past.reason)
        for past in plan.passed
    ]
    for due in plan.runs:
        if overlap == "skip" and in_flight and due.slot not in sent:
            rows.append(RunRow(due.slot, "skipped", due.followed_by, reason=OVERLAPPED))
        else:
            rows.append(RunRow(due.slot, "waiting", due.followed_by))
    return sorted(rows, key=lambda row: row.slot)
