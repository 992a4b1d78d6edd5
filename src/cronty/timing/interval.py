"""A trigger that counts elapsed time from an anchor."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cronty.timing.errors import BadTrigger
from cronty.timing.localtime import as_utc

SHORTEST = timedelta(seconds=1)
LONGEST = timedelta(days=3653)


@dataclass(frozen=True, slots=True)
class Interval:
    """Fires at `anchor`, then every `period` of elapsed time.

    Slots are counted from the anchor, never from the last run, so lateness doesn't add up. A period of 24
    hours is not "every day at 9": it moves by an hour when the clocks change. Use `Cron` for that.
    """

    period: timedelta
    anchor: datetime

    def __post_init__(self) -> None:
        if not SHORTEST <= self.period <= LONGEST:
            seconds = self.period.total_seconds()
            raise BadTrigger(
                f"Invalid interval: {seconds:g} seconds",
                "It must be from 1 second to 10 years; for example, 900 is every 15 minutes.",
            )
        object.__setattr__(self, "anchor", as_utc(self.anchor))

    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot strictly later than `moment`; None only past the year 9999."""
        if moment < self.anchor:
            return self.anchor
        try:
            return self.anchor + ((moment - self.anchor) // self.period + 1) * self.period
        except OverflowError:
            return None

    def last(self, since: datetime, until: datetime) -> datetime | None:
        """Return the latest slot from `since` through `until`."""
        if until < self.anchor:
            return None
        latest = self.anchor + (until - self.anchor) // self.period * self.period
        return latest if latest >= since else None

    def count(self, since: datetime, until: datetime) -> int:
        """Return the number of slots from `since` through `until`."""
        if until < since:
            return 0
        # Minus the floor of the negative is the ceiling: the first k whose slot is not before `since`.
        first = max(0, -((self.anchor - since) // self.period))
        return max(0, (until - self.anchor) // self.period - first + 1)
