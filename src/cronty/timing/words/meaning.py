"""What a reading needs to know about the world, and what it comes to."""

from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from cronty.timing.trigger import Trigger
from cronty.timing.zones import zone


@dataclass(frozen=True, slots=True)
class Meaning:
    """A trigger that may be meant; what else to say about it, the soft time it was said with, and how often at most."""

    trigger: Trigger
    note: str | None = None
    soft: str = ""
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """When and where something is said."""

    now: datetime
    zone: str

    @property
    def zoneinfo(self) -> ZoneInfo:
        return zone(self.zone)

    @property
    def local(self) -> datetime:
        return self.now.astimezone(self.zoneinfo)

    @property
    def today(self) -> date:
        return self.local.date()
