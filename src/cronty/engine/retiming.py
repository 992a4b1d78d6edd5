"""Keeps next slots true to the zone database: a new version moves the jobs it concerns, an old one doesn't fire."""

from datetime import datetime
from typing import Final

import orjson

from cronty import telemetry
from cronty.engine.loop import LONGEST_REST
from cronty.store.database import Row
from cronty.store.zone_store import Move, ZoneStore
from cronty.timing import BadTrigger, Trigger, from_json, tzdata_version

BATCH: Final = 5000


class Retiming:
    """The duty of applying this process's version to every job, once per version and fleet."""

    def __init__(self, store: ZoneStore) -> None:
        self._store = store
        self.version = 0
        self.outdated = False
        """Somebody in the fleet has a newer zone database; computing with this one might fire at a wrong hour."""

    async def note_version(self) -> None:
        mine = tzdata_version()
        self.version, newest = await self._store.note_version(mine)
        if newest > mine and not self.outdated:
            telemetry.zones_outdated(mine, newest)
        self.outdated = newest > mine

    async def step(self) -> float:
        """Look at one batch of jobs; 0 if there may be more."""
        await self.note_version()
        if self.outdated:
            return LONGEST_REST
        done = await self._store.retime(self.version, BATCH, moved)
        if done is None:
            return float("inf")
        seen, moves = done
        if moves:
            telemetry.jobs_retimed(moves, tzdata_version())
        return 0 if seen == BATCH else float("inf")


def moved(row: Row) -> Move | None:
    """Where this version puts the job's next slot, if that is somewhere else."""
    try:
        trigger: Trigger = from_json(orjson.loads(row["trigger"]))
    except BadTrigger:
        return None  # it is set aside, with its reason, when it would fire
    slot: datetime | None = trigger.after(row["computed_after"])
    if slot is not None and row["ends_at"] is not None and slot > row["ends_at"]:
        slot = None
    if slot == row["slot"]:
        return None
    return Move(row["job_id"], row["owner_id"], row["slot"], slot, row["last_slot"])
