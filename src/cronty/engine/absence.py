"""Whether this engine is catching up on slots that passed while nothing was running, and which those are."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from cronty.engine.batch import Batch
from cronty.store.engine_store import PassedSlots

LATE: Final = timedelta(minutes=1)
"""How late a slot must be to have passed, and how long without a look is an absence: engines look every few seconds."""


class Absence:
    """It is over when a look finds nothing more to catch up on. What is late after that is late for another reason."""

    def __init__(self) -> None:
        self._looked_at: datetime | None = None
        self._catching_up = False

    def look(self, moment: datetime) -> None:
        """Something is due. If this is the first look for a while, it may be long overdue."""
        if self._looked_at is None or moment - self._looked_at > LATE:
            self._catching_up = True
        self._looked_at = moment

    def end(self, moment: datetime) -> None:
        """Nothing more is due."""
        self._catching_up = False
        self._looked_at = moment

    def passed(self, batch: Batch, moment: datetime) -> list[PassedSlots]:
        """The slots of a batch that passed while nothing was running; usually none."""
        return list(_passed(batch, moment - LATE)) if self._catching_up else []


def _passed(batch: Batch, before: datetime) -> Iterator[PassedSlots]:
    for one in batch.attempts:
        if one.slot < before and one.slot not in batch.delivered.get(one.job_id, ()):
            yield PassedSlots(one.owner_id, one.job_id, one.slot, 1, 0, 0)
    for moved in batch.moved:
        sent = batch.delivered.get(moved.job_id, ())
        rows = [row for row in moved.rows if row.slot < before and row.slot not in sent]
        late, coalesced, missed = (
            sum(row.slots for row in rows if row.state == state) for state in ("waiting", "coalesced", "missed")
        )
        if late or coalesced or missed:
            yield PassedSlots(moved.owner_id, moved.job_id, rows[0].slot, late, coalesced, missed)
