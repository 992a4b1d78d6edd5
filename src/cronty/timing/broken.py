"""A stored trigger that can't be read any more, as after its zone was struck from the database."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Broken:
    """Never fires; it exists so that its job can be looked at, and be given a new trigger."""

    stored: Mapping[str, object]
    reason: str

    def after(self, moment: datetime) -> datetime | None:
        return None

    def last(self, since: datetime, until: datetime) -> datetime | None:
        return None

    def count(self, since: datetime, until: datetime) -> int:
        return 0
