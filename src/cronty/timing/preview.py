"""The slots to come, on the clocks of a zone, with a note wherever clocks change."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronty.timing.calendar import Calendar
from cronty.timing.slot_changes import Changed
from cronty.timing.trigger import Trigger
from cronty.timing.zoned import Zoned, nominal
from cronty.timing.zones import zone


@dataclass(frozen=True, slots=True)
class Slot:
    """One moment, as local time and in UTC, and what is odd about it."""

    local: datetime
    utc: datetime
    note: str | None = None


def preview(trigger: Trigger | Changed, after: datetime, count: int, zone_name: str) -> list[Slot]:
    """Return the next `count` slots strictly later than `after`, fewer if there aren't so many."""
    return list(slots_ahead(trigger, after, count, zone_name))


def slots_ahead(trigger: Trigger | Changed, after: datetime, count: int, zone_name: str) -> Iterator[Slot]:
    """The same, each when it is asked for: the way to a rare slot leads through years."""
    zoneinfo = zone(zone_name)
    before: Slot | None = None
    moment = after
    for _ in range(count):
        following = trigger.after(moment)
        if following is None:
            return
        local = following.astimezone(zoneinfo)
        before = Slot(local, following, _note(trigger, following, local, before))
        yield before
        moment = following


def _note(trigger: Trigger | Changed, moment: datetime, local: datetime, before: Slot | None) -> str | None:
    if isinstance(trigger, Changed):
        if trigger.is_changed(moment):
            return f"skipped: {trigger.taken(moment)}"
        if (moved := trigger.moved_here(moment)) is not None:
            there = moved.astimezone(local.tzinfo)
            return f"moved from {there:%A} {there.day} {there:%B} {there:%H:%M}, this once"
        trigger = trigger.rule
    if isinstance(trigger, Calendar) and (note := _day_off(trigger, moment)) is not None:
        return note
    if isinstance(trigger, Zoned) and (named := nominal(trigger, moment)) is not None:
        there = moment.astimezone(zone(trigger.zone))
        return f"clocks go forward that night: moved from {named:%H:%M} to {there:%H:%M}"
    if local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset():
        return f"clocks go back: {'second' if local.fold else 'first'} pass of {local:%H:%M}"
    return None if before is None else _shift(before, local)


def _day_off(calendar: Calendar, moment: datetime) -> str | None:
    """Say that a day off takes a slot, or that it was moved here from one."""
    if (reason := calendar.taken(moment)) is not None:
        return f"skipped: {reason}"
    if calendar.instead == "skip" or (source := calendar.moved_from(moment)) is None:
        return None
    reason = calendar.day_off(source) or "weekend"
    return f"moved from {source:%A} {source.day} {source:%B}: {reason}"


def _shift(before: Slot, local: datetime) -> str | None:
    """Say how a changed offset shows between two slots."""
    now, then = local.utcoffset(), before.local.utcoffset()
    if now is None or then is None or now == then:
        return None
    forward = now > then
    amount = _amount(abs(now - then))
    if local.time() == before.local.time():
        return f"{amount} {'earlier' if forward else 'later'} in UTC than the one before"
    if local.astimezone(UTC).time() == before.utc.time():
        return f"{amount} {'later' if forward else 'earlier'} on the clock than the one before"
    return f"clocks went {'forward' if forward else 'back'} {amount}"


def _amount(change: timedelta) -> str:
    if change == timedelta(hours=1):
        return "an hour"
    minutes = change // timedelta(minutes=1)
    return f"{minutes // 60} hours" if minutes % 60 == 0 else f"{minutes} minutes"
