"""What was said of single slots of a job, once: that one is skipped, or moved to another time.

The rule stays as it is. A slot that is skipped or moved is a slot like the others, with a verdict of its own when its
time comes; the time it was moved to is one more slot. A change remembers the local time of its slot, so that it still
means the same slot after a change of the zone database.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from cronty.timing.calendar import Calendar, Taken
from cronty.timing.localtime import instant_of
from cronty.timing.offsets import TICK
from cronty.timing.trigger import Trigger
from cronty.timing.zoned import Zoned
from cronty.timing.zones import zone

MAX_CHANGES: Final = 100
"""Of one job, that are still to come."""


@dataclass(frozen=True, slots=True)
class SlotChange:
    """One slot that is skipped or, with `to`, moved; `why` is its verdict's reason, and says who asked for it."""

    slot: datetime
    why: str
    to: datetime | None = None
    local: datetime | None = None

    @property
    def last(self) -> datetime:
        """When nothing of it is to come any more."""
        return self.slot if self.to is None else max(self.slot, self.to)


class Changed:
    """A rule with what was said of its single slots; it answers as a trigger does."""

    __slots__ = ("_added", "_changes", "open", "rule")

    def __init__(self, rule: Trigger, changes: Iterable[SlotChange]) -> None:
        self.rule = rule
        self._changes = {slot: each for each in changes if (slot := _slot(rule, each)) is not None}
        self._added = sorted({each.to for each in changes if each.to is not None and not rule.count(each.to, each.to)})
        self.open = _Open(self)

    @property
    def takes_slots(self) -> bool:
        """Whether there are slots that don't run."""
        return bool(self._changes) or (isinstance(self.rule, Calendar) and self.rule.takes_slots)

    def after(self, moment: datetime) -> datetime | None:
        return _earlier(self.rule.after(moment), self.added_after(moment))

    def last(self, since: datetime, until: datetime) -> datetime | None:
        return _later(self.rule.last(since, until), self.added_before(since, until))

    def count(self, since: datetime, until: datetime) -> int:
        return self.rule.count(since, until) + self.added_count(since, until)

    def taken(self, slot: datetime) -> str | None:
        """Return why a slot doesn't run, if it was skipped or moved, or a day off takes it."""
        if slot in self._changes:
            return self._changes[slot].why
        return self.rule.taken(slot) if isinstance(self.rule, Calendar) and slot not in self._added else None

    def moved_here(self, slot: datetime) -> datetime | None:
        """Return the slot that was moved to this time."""
        return next((each.slot for each in self._changes.values() if each.to == slot), None)

    def ranges(self, since: datetime, until: datetime) -> Iterator[Taken]:
        """Yield the slots that don't run, in ranges that hold no other slot."""
        marks = sorted({*self._changes, *self._added})
        if isinstance(self.rule, Calendar) and self.rule.takes_slots:
            for each in self.rule.ranges(since, until):
                yield from self._split(each, marks)
        for slot, change in self._changes.items():
            if since <= slot <= until:
                yield Taken(change.why, slot, slot, 1)

    def _split(self, whole: Taken, marks: Sequence[datetime]) -> Iterator[Taken]:
        first: datetime | None = whole.first
        for mark in marks[bisect_left(marks, whole.first) : bisect_right(marks, whole.through)]:
            if first is None:
                return
            through = self.rule.last(first, mark - TICK) if first < mark else None
            if through is not None:
                yield Taken(whole.reason, first, through, self.rule.count(first, through))
            first = self.rule.after(mark)
        if first is not None and first <= whole.through:
            yield Taken(whole.reason, first, whole.through, self.rule.count(first, whole.through))

    # -- the times that slots were moved to ------------------------------------------------------------------------

    def is_changed(self, slot: datetime) -> bool:
        return slot in self._changes

    def added_after(self, moment: datetime) -> datetime | None:
        place = bisect_right(self._added, moment)
        return self._added[place] if place < len(self._added) else None

    def added_before(self, since: datetime, until: datetime) -> datetime | None:
        place = bisect_right(self._added, until)
        return self._added[place - 1] if place and self._added[place - 1] >= since else None

    def added_count(self, since: datetime, until: datetime) -> int:
        return max(0, bisect_right(self._added, until) - bisect_left(self._added, since))

    def changed_count(self, opened: Trigger | Zoned, since: datetime, until: datetime) -> int:
        return sum(since <= slot <= until and opened.count(slot, slot) > 0 for slot in self._changes)


class _Open:
    """The slots of a changed rule that run."""

    __slots__ = ("_all", "_rule")

    def __init__(self, changed: Changed) -> None:
        self._all = changed
        self._rule = changed.rule.open if isinstance(changed.rule, Calendar) else changed.rule

    def after(self, moment: datetime) -> datetime | None:
        found = self._rule.after(moment)
        while found is not None and self._all.is_changed(found):
            found = self._rule.after(found)
        return _earlier(found, self._all.added_after(moment))

    def last(self, since: datetime, until: datetime) -> datetime | None:
        found = self._rule.last(since, until)
        while found is not None and self._all.is_changed(found):
            found = self._rule.last(since, found - TICK) if found > since else None
        return _later(found, self._all.added_before(since, until))

    def count(self, since: datetime, until: datetime) -> int:
        taken = self._all.changed_count(self._rule, since, until)
        return self._rule.count(since, until) - taken + self._all.added_count(since, until)


def with_changes(rule: Trigger, changes: Sequence[SlotChange]) -> Trigger | Changed:
    """Return what names the slots of a job."""
    return Changed(rule, changes) if changes else rule


def changes_to_json(changes: Iterable[SlotChange]) -> list[dict[str, str]]:
    """Return changes as they are stored beside their trigger."""
    return [
        {"slot": each.slot.isoformat(), "why": each.why}
        | ({} if each.to is None else {"to": each.to.isoformat()})
        | ({} if each.local is None else {"local": each.local.isoformat()})
        for each in changes
    ]


def changes_from_json(value: object) -> tuple[SlotChange, ...]:
    """Return the changes that are stored beside a trigger."""
    return tuple(
        SlotChange(
            datetime.fromisoformat(each["slot"]),
            each["why"],
            datetime.fromisoformat(each["to"]) if "to" in each else None,
            datetime.fromisoformat(each["local"]) if "local" in each else None,
        )
        for each in cast("Iterable[Mapping[str, str]]", value or ())
    )


def local_of(rule: Trigger, slot: datetime) -> datetime | None:
    """Return what the clocks of a rule's zone show at a slot; None for a rule without a zone."""
    return slot.astimezone(zone(rule.zone)).replace(tzinfo=None) if isinstance(rule, Zoned) else None


def _slot(rule: Trigger, change: SlotChange) -> datetime | None:
    if rule.count(change.slot, change.slot):
        return change.slot
    if change.local is None or not isinstance(rule, Zoned):
        return None
    slot = instant_of(change.local, rule.zone).at
    return slot if rule.count(slot, slot) else None


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return one if other is None or (one is not None and one <= other) else other


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return one if other is None or (one is not None and one >= other) else other
