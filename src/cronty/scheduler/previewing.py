"""What a schedule means, without a job."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from cronty.timing import Slot, describe, slots_ahead
from cronty.timing.describe import with_count
from cronty.timing.rule import Rule


@dataclass(frozen=True, slots=True)
class Preview:
    """A schedule without a job: in words, and its next slots."""

    words: str
    zone: str
    slots: list[Slot]
    note: str | None


async def preview_of(rule: Rule, now: datetime, count: int) -> Preview:
    """It has no slots if the rule never fires again."""
    slots: list[Slot] = []
    for slot in slots_ahead(rule.trigger, now, min(count, rule.max_runs or count), rule.zone):
        slots.append(slot)
        await asyncio.sleep(0)  # others' turn: the way to each may lead through years
    words = with_count(describe(rule.trigger, rule.zone), rule.zone, rule.max_runs) if slots else ""
    return Preview(words, rule.zone, slots, rule.note)
