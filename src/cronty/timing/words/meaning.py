"""What a reading needs to know about the world, and what it comes to."""

from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from cronty.timing.trigger import Trigger
from cronty.timing.zones import zone


@dataclass(frozen=True, slots=True)
class Meaning:
    """A trigger that may be meant; what else to say about it, the soft time it was said with, and how often at most.

    `choice` if it is one side of an "or", and has to be chosen even if nothing is left of the other side.
    """

    trigger: Trigger
    note: str | None = None
    soft: str = ""
    most: int | None = None
    choice: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """When something is said, and the zone that is meant; `home` is where it is said, if it is another day there."""

    now: datetime
    zone: str
    home: str = ""

    @property
    def zoneinfo(self) -> ZoneInfo:
        return zone(self.zone)

    @property
    def local(self) -> datetime:
        return self.now.astimezone(self.zoneinfo)

    @property
    def today(self) -> date:
        return self.now.astimezone(zone(self.home or self.zone)).date()
