"""The slots that came and went while a job couldn't fire."""

from dataclasses import dataclass
from datetime import datetime

from cronty.timing.offsets import TICK
from cronty.timing.slot_changes import Changed
from cronty.timing.trigger import Trigger


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
    return Past(first, through, 1 + trigger.count(first + TICK, through), followed_by)
