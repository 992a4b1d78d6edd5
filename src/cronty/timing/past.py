"""The slots that came and went while a job couldn't fire."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cronty.timing.slot_changes import Changed
from cronty.timing.trigger import Trigger

_TICK: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Past:
    """A contiguous range of slots, and the slot that follows it."""

    first: datetime
    through: datetime
    slots: int
    followed_by: datetime | None


def slots_between(trigger: Trigger | Changed, first: datetime, until: datetime, followed_by: datetime | None) -> Past:
    """All slots from `first`, which is one, through `until`."""
    through = trigger.last(first, until) or first
    return Past(first, through, 1 + trigger.count(first + _TICK, through), followed_by)
