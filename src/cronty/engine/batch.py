"""The changes that one locked batch of due jobs leads to."""

from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import datetime

from cronty.engine.attempt import Attempt
from cronty.jobs.firing import RunRow
from cronty.store.engine_store import Moved, PassedSlots


class Batch:
    """Filled job by job, then written together. `attempts` are the ordinary fires, `next_slots` their next slots."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.next_slots: list[datetime | None] = []
        self.moved: list[Moved] = []
        self.replaced: list[int] = []
        self.missed: list[tuple[int, str]] = []
        self.broken: list[tuple[int, str]] = []
        self.delivered: Mapping[int, Set[datetime]] = {}
        """Slots that ntfy has sent ahead of us, by job."""
        self.passed_before: datetime | None = None
        """Slots before this moment passed while nothing was running. None if something was."""
        self.first_passed: list[PassedSlots] = []
        """Those of owners that haven't been noted yet."""

    def fire(self, attempt: Attempt, next_slot: datetime | None) -> None:
        self.attempts.append(attempt)
        self.next_slots.append(next_slot)

    def slots(self) -> list[tuple[int, datetime]]:
        """Every slot that will get a run row."""
        ordinary = [(one.job_id, one.slot) for one in self.attempts]
        return ordinary + [(one.job_id, row.slot) for one in self.moved for row in one.rows]

    def leave_out(self, taken: set[tuple[int, datetime]]) -> None:
        """Drop slots that already have a run row: the clock was set back, or a manual run has the same time."""
        self.moved = [
            one._replace(rows=[r for r in one.rows if (one.job_id, r.slot) not in taken]) for one in self.moved
        ]
        for attempt, next_slot in self._take_ordinary():
            if (attempt.job_id, attempt.slot) in taken:
                self.moved.append(_moved(attempt, next_slot, []))
            else:
                self.fire(attempt, next_slot)

    def skip(self, reasons: Mapping[tuple[int, datetime], str]) -> None:
        """Mark slots as skipped instead of running them. A job whose last slot is skipped has failed."""
        self.moved = [self._skipping(one, reasons) for one in self.moved]
        for attempt, next_slot in self._take_ordinary():
            if (attempt.job_id, attempt.slot) in reasons:
                one = _moved(attempt, next_slot, [RunRow(attempt.slot, "waiting", next_slot)])
                self.moved.append(self._skipping(one, reasons))
            else:
                self.fire(attempt, next_slot)

    def _skipping(self, one: Moved, reasons: Mapping[tuple[int, datetime], str]) -> Moved:
        rows = [
            replace(row, state="skipped", reason=why)
            if row.state == "waiting" and (why := reasons.get((one.job_id, row.slot)))
            else row
            for row in one.rows
        ]
        if rows == list(one.rows) or any(row.state == "waiting" for row in rows):
            return one._replace(rows=rows)
        self.replaced = [job_id for job_id in self.replaced if job_id != one.job_id]  # no run replaces it now
        if one.next_slot is None:
            self.missed.append((one.job_id, f"{rows[-1].state}: {rows[-1].reason}"))
        return one._replace(rows=rows)

    def _take_ordinary(self) -> list[tuple[Attempt, datetime | None]]:
        ordinary = list(zip(self.attempts, self.next_slots, strict=True))
        self.attempts, self.next_slots = [], []
        return ordinary


def _moved(attempt: Attempt, next_slot: datetime | None, rows: list[RunRow]) -> Moved:
    return Moved(attempt.job_id, attempt.owner_id, attempt.task.name, rows, next_slot, attempt.policy.serial)
