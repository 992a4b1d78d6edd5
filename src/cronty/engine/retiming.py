"""Keeps next slots true to the zone database: new rules of a zone move its jobs, and old ones don't fire them.

Two versions of the zone database may be at work at once, as during an upgrade. Almost all zones are the same in both.
A zone whose rules differ goes by the newest version that a living worker has: the other workers leave its jobs alone.
When no worker with that version is left, as after a rollback, the zone goes back to the rules of those that are.
"""

from datetime import datetime
from typing import Final

import orjson

from cronty import telemetry
from cronty.engine.loop import LONGEST_REST
from cronty.store.database import Row
from cronty.store.zone_store import Move, ZoneInUse, ZoneStore
from cronty.timing import BadTrigger, Broken, from_stored, tzdata_version, zone_rules

BATCH: Final = 5000


class Retiming:
    """The duty of applying this process's zone database where it is the one that counts."""

    def __init__(self, store: ZoneStore) -> None:
        self._store = store
        self.left_zones: list[str] = []
        """Zones that go by newer rules than this process has: their jobs are left to workers that know them."""

    async def step(self) -> float:
        """Look at one batch of jobs; 0 if there may be more."""
        moving = await self.look()
        if not moving:
            return LONGEST_REST
        ended, moves = await self._store.retime(moving, BATCH, moved)
        if moves:
            telemetry.jobs_retimed(moves, tzdata_version())
        return LONGEST_REST if ended else 0

    async def look(self) -> dict[str, str]:
        """Compare rules: which zones to leave to others, and which have jobs to be moved to this process's rules."""
        mine, version = _rules(await self._store.zones()), tzdata_version()
        left = sorted(zone.name for zone, rules in mine if rules != zone.rules and zone.version > version and zone.kept)
        if left and left != self.left_zones:
            telemetry.zones_left(left, version)
        self.left_zones[:] = left
        taken = [
            (zone.name, zone.rules, rules)
            for zone, rules in mine
            if rules is not None
            and rules != zone.rules
            and (zone.version < version or (zone.version > version and not zone.kept))
        ]
        if taken:
            await self._store.take(taken, version)
        moving = {zone.name: zone.rules for zone, rules in mine if rules == zone.rules and zone.moving}
        return moving | {name: rules for name, _, rules in taken}


def moved(row: Row) -> Move | None:
    """Where the rules of this process put the job's next slot, if that is elsewhere."""
    trigger = from_stored(orjson.loads(row["trigger"]))
    if isinstance(trigger, Broken):
        return None  # it is set aside, with its reason, when it would fire
    slot: datetime | None = trigger.after(row["computed_after"])
    if slot is not None and row["ends_at"] is not None and slot > row["ends_at"]:
        slot = None
    if slot == row["slot"]:
        return None
    return Move(row["job_id"], row["owner_id"], row["slot"], slot, row["last_slot"])


def _rules(zones: list[ZoneInUse]) -> list[tuple[ZoneInUse, str | None]]:
    """Zones with the rules this process has for them; None if it doesn't know the zone."""
    found: list[tuple[ZoneInUse, str | None]] = []
    for zone in zones:
        try:
            found.append((zone, zone_rules(zone.name)))
        except (BadTrigger, OSError):
            found.append((zone, None))
    return found
