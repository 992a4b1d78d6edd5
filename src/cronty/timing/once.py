"""A trigger with a single slot."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from cronty.timing.localtime import as_utc, instant_of
from cronty.timing.zones import zone


@dataclass(frozen=True, slots=True)
class Once:
    """Fires one time, at `at`.

    If it was said as a local time, `local` (without an offset) and `zone` keep it so: another version of the zone
    database may put it at another instant. Make such a one with `at_local`.
    """

    at: datetime
    local: datetime | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_utc(self.at))

    @classmethod
    def at_local(cls, local: datetime, zone_name: str) -> Self:
        """At a time on the clocks of a zone: the first if it comes twice, the end of the gap if it is jumped over."""
        key = zone(zone_name).key
        return cls(instant_of(local, key).at, local, key)

    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot strictly later than `moment`."""
        return self.at if self.at > moment else None

    def last(self, since: datetime, until: datetime) -> datetime | None:
        """Return the latest slot from `since` through `until`."""
        return self.at if since <= self.at <= until else None

    def count(self, since: datetime, until: datetime) -> int:
        """Return the number of slots from `since` through `until`."""
        return int(since <= self.at <= until)
