"""Whether this engine is catching up on slots that passed while nothing was running, and which those are."""

from collections.abc import Iterator, Sequence, Set
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty.engine.batch import Batch
from cronty.store.engine_store import PassedSlots

type Key = tuple[int, bool, bool]
"""An owner, and whether slots run late and whether some are missed: what has the same key is counted together."""

LATE: Final = timedelta(minutes=1)
"""How late a slot must be to have passed, and how long without a look is an absence: engines look every few seconds."""

WRITE_EVERY: Final = 10.0
"""Seconds between two writes of slots whose owner will be told anyway."""


class Absence:
    """It is over when a look finds nothing more to catch up on. What is late after that is late for another reason.

    The first slots of an owner are noted with the batch that fires them, so that the owner is told of the absence
    whatever happens. The others are counted in memory and written every few seconds: a write for each would slow down
    the catching up, and hold up other engines that fire for the same owner.
    """

    def __init__(self) -> None:
        self._looked_at: datetime | None = None
        self._catching_up = False
        self._noted: set[int] = set()
        self._unwritten: dict[Key, PassedSlots] = {}
        self._write_at = 0.0

    def look(self, moment: datetime) -> None:
        """Something is due. If this is the first look for a while, it may be long overdue."""
        if self._looked_at is None or moment - self._looked_at > LATE:
            self._catching_up = True
        self._looked_at = moment

    def end(self, moment: datetime) -> None:
        """Nothing more is due."""
        self._catching_up = False
        self._looked_at = moment
        self._noted.clear()
        self._write_at = 0.0

    def passed(self, batch: Batch, moment: datetime) -> None:
        """Note in the batch whose slots passed while nothing was running; usually nobody's."""
        if self._catching_up:
            batch.passed_before = moment - LATE
            batch.first_passed = list(_passed(batch, batch.passed_before, self._noted))

    def committed(self, batch: Batch) -> None:
        """Count those of the other owners, who will be told anyway."""
        if batch.passed_before is None:
            return
        first = {one.owner_id for one in batch.first_passed}
        for one in _passed(batch, batch.passed_before, first):
            self._keep(one)
        self._noted |= first

    def take(self) -> list[PassedSlots]:
        """Take what has to be written now."""
        if not self._unwritten or monotonic() < self._write_at:
            return []
        self._write_at = monotonic() + WRITE_EVERY
        taken, self._unwritten = self._unwritten, {}
        return list(taken.values())

    def give_back(self, taken: Sequence[PassedSlots]) -> None:
        """It could not be written."""
        for one in taken:
            self._keep(one)

    def _keep(self, one: PassedSlots) -> None:
        key = one.owner_id, one.late > 0, one.missed > 0
        kept = self._unwritten.get(key)
        self._unwritten[key] = one if kept is None else _together(kept, one)


def _together(kept: PassedSlots, one: PassedSlots) -> PassedSlots:
    """Both in one, under the job of the first."""
    owner_id, job_id, slot, late, coalesced, missed = kept
    return PassedSlots(
        owner_id, job_id, min(slot, one.slot), late + one.late, coalesced + one.coalesced, missed + one.missed
    )


def _passed(batch: Batch, before: datetime, without: Set[int]) -> Iterator[PassedSlots]:
    """The slots of a batch that were planned before this moment, without those of these owners."""
    delivered = batch.delivered
    for one in batch.attempts:
        owner_id, slot = one.owner_id, one.slot
        if owner_id in without or slot >= before or (delivered and slot in delivered.get(one.job_id, ())):
            continue
        yield PassedSlots(owner_id, one.job_id, slot, 1, 0, 0)
    for moved in batch.moved:
        if moved.owner_id in without:
            continue
        sent = delivered.get(moved.job_id, ())
        rows = [row for row in moved.rows if row.slot < before and row.slot not in sent]
        late, coalesced, missed = (
            sum(row.slots for row in rows if row.state == state) for state in ("waiting", "coalesced", "missed")
        )
        if late or coalesced or missed:
            yield PassedSlots(moved.owner_id, moved.job_id, rows[0].slot, late, coalesced, missed)
