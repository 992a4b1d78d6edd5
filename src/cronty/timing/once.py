"""A trigger with a single slot."""

from dataclasses import dataclass
from datetime import UTC, datetime

from cronty.timing.errors import BadTrigger


@dataclass(frozen=True, slots=True)
class Once:
    """Fires one time, at `at`."""

    at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_utc(self.at))

    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot strictly later than `moment`."""
        return self.at if self.at > moment else None

    def last(self, since: datetime, until: datetime) -> datetime | None:
        """Return the latest slot from `since` through `until`."""
        return self.at if since <= self.at <= until else None

    def count(self, since: datetime, until: datetime) -> int:
        """Return the number of slots from `since` through `until`."""
        return int(since <= self.at <= until)


def as_utc(moment: datetime) -> datetime:
    """Return the same instant in UTC; a time without an offset is refused: nobody knows when it is."""
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        raise BadTrigger(f"Time without offset: {moment.isoformat()}", "Add one, as in 2027-01-31T09:00:00+01:00.")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise BadTrigger(f"Time out of range: {moment.isoformat()}", "Years run from 1 to 9999.") from None
