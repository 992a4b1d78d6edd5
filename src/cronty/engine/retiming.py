"""Moves jobs to new slots when the time zone database (tzdata) changes the rules of their zone.

Workers may have two versions of tzdata at once, as during an upgrade. Almost all zones are the same in both. If a
zone's rules differ, the newest version that a live worker has is used, and workers with an older version don't fire
its jobs. When no worker with that version is left, as after a rollback, the older rules are used again.
"""

from typing import Final

from cronty import telemetry
from cronty.engine.loop import MAX_REST
from cronty.store.zone_store import ZoneInUse, ZoneStore
from cronty.timing import BadTrigger, tzdata_version, zone_rules

BATCH: Final = 1000
"""The most jobs in one transaction, which holds those that it moves."""


class Retiming:
    """The duty of applying this process's tzdata to the zones it decides."""

    def __init__(self, store: ZoneStore) -> None:
        self._store = store
        self.left_zones: list[str] = []
        """Zones with newer rules than this process has; other workers fire their jobs."""

    async def step(self) -> float:
        """Check one batch of jobs; 0 if there may be more."""
        moving = await self.look()
        if not moving:
            return MAX_REST
        ended, moves = await self._store.retime(moving, BATCH)
        if moves:
            telemetry.jobs_retimed(moves, tzdata_version())
        return MAX_REST if ended else 0

    async def look(self) -> dict[str, str]:
        """Find the zones to leave to other workers; return the zones whose jobs must move, with the new rules."""
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


def _rules(zones: list[ZoneInUse]) -> list[tuple[ZoneInUse, str | None]]:
    """Each zone with this process's rules for it; None if it doesn't know the zone."""
    found: list[tuple[ZoneInUse, str | None]] = []
    for zone in zones:
        try:
            found.append((zone, zone_rules(zone.name)))
        except (BadTrigger, OSError):
            found.append((zone, None))
    return found
