"""Which run rows a plan becomes, once overlap with the previous run is settled."""

from dataclasses import dataclass
from datetime import datetime

from cronty.jobs.policy import Overlap
from cronty.jobs.run import RunState
from cronty.timing import Plan

OVERLAPPED = "the previous run was still in flight"


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row to insert: `waiting` means it is to be performed, after the slot `behind` if that is set."""

    slot: datetime
    state: RunState
    followed_by: datetime | None
    through: datetime | None = None
    slots: int = 1
    reason: str | None = None
    behind: datetime | None = None


def rows_of(plan: Plan, overlap: Overlap, previous: datetime | None) -> list[RunRow]:
    """The rows of a plan in time order, `previous` being the slot of the job's run still in flight, if any."""
    rows = [
        RunRow(past.first, past.verdict, past.followed_by, past.through, past.slots, past.reason)
        for past in plan.passed
    ]
    for due in plan.runs:
        if overlap == "skip" and previous is not None:
            rows.append(RunRow(due.slot, "skipped", due.followed_by, reason=OVERLAPPED))
        elif overlap == "allow":
            rows.append(RunRow(due.slot, "waiting", due.followed_by))
        else:
            rows.append(RunRow(due.slot, "waiting", due.followed_by, behind=previous))
    if overlap != "allow" and (overlap != "skip" or previous is None):
        rows = _in_line(rows)
    return sorted(rows, key=lambda row: row.slot)


def _in_line(rows: list[RunRow]) -> list[RunRow]:
    """Runs of one job planned at the same time go one behind the other."""
    line: list[RunRow] = []
    ahead: datetime | None = None
    for row in rows:
        if row.state != "waiting":
            line.append(row)
            continue
        line.append(row if ahead is None else RunRow(row.slot, "waiting", row.followed_by, behind=ahead))
        ahead = row.slot
    return line
