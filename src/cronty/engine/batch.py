"""What one locked batch of due jobs becomes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from cronty.engine.attempt import Attempt
from cronty.jobs.firing import RunRow
from cronty.store.engine_store import Fired, Moved


class Batch:
    """Filled job by job, written at once."""

    def __init__(self) -> None:
        self.fired = Fired([], [], [], [])
        self.attempts: list[Attempt] = []
        self.moved: list[Moved] = []
        self.replaced: list[int] = []
        self.missed: list[tuple[int, str]] = []
        self.broken: list[tuple[int, str]] = []

    def slots(self) -> list[tuple[int, datetime]]:
        """Every slot that is to get a run row."""
        ordinary = list(zip(self.fired.job_ids, self.fired.slots, strict=True))
        return ordinary + [(one.job_id, row.slot) for one in self.moved for row in one.rows]

    def leave_out(self, taken: set[tuple[int, datetime]]) -> None:
        """Pass over slots that have their row: a clock set back, or a run asked for at the very same moment."""
        fired = self.fired
        ordinary = zip(fired.job_ids, fired.slots, fired.next_slots, fired.owner_ids, self.attempts, strict=True)
        self.moved = [
            one._replace(rows=[r for r in one.rows if (one.job_id, r.slot) not in taken]) for one in self.moved
        ]
        self.fired, self.attempts = Fired([], [], [], []), []
        for job_id, slot, next_slot, owner_id, attempt in list(ordinary):
            if (job_id, slot) in taken:
                self.moved.append(Moved(job_id, owner_id, attempt.task.name, [], next_slot, attempt.policy.serial))
                continue
            self._keep(job_id, slot, next_slot, owner_id, attempt)

    def skip(self, reasons: Mapping[tuple[int, datetime], str]) -> None:
        """Give slots that were to be run a verdict instead; a job that ends with one has failed, and says why."""
        self.moved = [self._skipping(one, reasons) for one in self.moved]
        fired, attempts = self.fired, self.attempts
        self.fired, self.attempts = Fired([], [], [], []), []
        ordinary = zip(fired.job_ids, fired.slots, fired.next_slots, fired.owner_ids, attempts, strict=True)
        for job_id, slot, next_slot, owner_id, attempt in ordinary:
            if (job_id, slot) in reasons:
                row = RunRow(slot, "waiting", next_slot)
                one = Moved(job_id, owner_id, attempt.task.name, [row], next_slot, attempt.policy.serial)
                self.moved.append(self._skipping(one, reasons))
            else:
                self._keep(job_id, slot, next_slot, owner_id, attempt)

    def _skipping(self, one: Moved, reasons: Mapping[tuple[int, datetime], str]) -> Moved:
        rows = [
            replace(row, state="skipped", reason=why)
            if row.state == "waiting" and (why := reasons.get((one.job_id, row.slot)))
            else row
            for row in one.rows
        ]
        if rows == list(one.rows) or any(row.state == "waiting" for row in rows):
            return one._replace(rows=rows)
        self.replaced = [job_id for job_id in self.replaced if job_id != one.job_id]  # nothing comes to replace it
        if one.next_slot is None:
            self.missed.append((one.job_id, f"{rows[-1].state}: {rows[-1].reason}"))
        return one._replace(rows=rows)

    def _keep(self, job_id: int, slot: datetime, next_slot: datetime | None, owner_id: int, attempt: Attempt) -> None:
        self.fired.job_ids.append(job_id)
        self.fired.slots.append(slot)
        self.fired.next_slots.append(next_slot)
        self.fired.owner_ids.append(owner_id)
        self.attempts.append(attempt)
