"""Slots as an iCalendar file, for calendars that people subscribe to.

A rule that RRULE can say is one event that repeats, on the clocks of its zone. RRULE knows nothing of our policy for
clocks that change, of days off, of runs that are skipped or moved, nor of how many are left: so what it says is
compared with the real slots for two years, and the differences become dates that are left out, or events of their own.
What RRULE can't say is written slot by slot, for a year.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from cronty.timing.calendar import Calendar
from cronty.timing.cron import Cron
from cronty.timing.cron_rules import as_calendar
from cronty.timing.errors import BadTrigger
from cronty.timing.interval import Interval
from cronty.timing.offsets import EPOCH, TICK, forward
from cronty.timing.rrule_out import to_rrules
from cronty.timing.slot_changes import Changed
from cronty.timing.trigger import Trigger
from cronty.timing.zoned import Zoned
from cronty.timing.zones import zone

HORIZON: Final = timedelta(days=731)
ONE_BY_ONE: Final = timedelta(days=366)
MAX_A_DAY: Final = 4
"""What comes more often than this, on average over four weeks, would bury a calendar."""
_WEEKS: Final = timedelta(days=28)
_AROUND: Final = timedelta(days=2)
_MAX_LINES: Final = 12
_MAX_LEFT_OUT: Final = 400
_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Entry:
    """A job in a calendar: `slots` from `first` on, at most `remaining`, none after `ends_at`."""

    uid: str
    summary: str
    description: str
    slots: Trigger | Changed
    first: datetime
    ends_at: datetime | None = None
    remaining: int | None = None


class _Line(NamedTuple):
    """An event that repeats: its first local time, its RRULE, and its slots on an unbroken local clock."""

    start: datetime
    rrule: str
    local: Calendar | Interval


def write_ics(entries: Iterable[Entry], now: datetime, name: str) -> str:
    """Return the file; entries that come too often are left out."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Cronty//Agenda//EN", "CALSCALE:GREGORIAN", "METHOD:PUBLISH"]
    lines += [f"X-WR-CALNAME:{_text(name)}", "REFRESH-INTERVAL;VALUE=DURATION:PT1H", "X-PUBLISHED-TTL:PT1H"]
    zones: dict[str, None] = {}
    events: list[str] = []
    for entry in entries:
        if not _too_often(entry):
            events += _events(entry, now, zones)
    for zone_name in zones:
        lines += _zone(zone_name, now)
    return "".join(f"{_folded(line)}\r\n" for line in (*lines, *events, "END:VCALENDAR"))


def _too_often(entry: Entry) -> bool:
    return _running(entry).count(entry.first, entry.first + _WEEKS - TICK) > MAX_A_DAY * _WEEKS.days


def _running(entry: Entry) -> "Trigger | Changed | Zoned":
    slots = entry.slots
    return slots.open if isinstance(slots, Calendar | Changed) else slots  # pyright: ignore[reportReturnType]


def _events(entry: Entry, now: datetime, zones: dict[str, None]) -> Iterator[str]:
    rule = entry.slots.rule if isinstance(entry.slots, Changed) else entry.slots
    found = _repeating(entry, rule)
    if found is None:
        for slot in _slots(entry, entry.first, entry.first + ONE_BY_ONE):
            yield from _single(entry, slot, now)
        return
    lines, left_out, others, until = found
    zone_name = rule.zone if isinstance(rule, Zoned) else None
    if zone_name is not None:
        zones[zone_name] = None
    for number, (line, without) in enumerate(zip(lines, left_out, strict=True)):
        yield from ("BEGIN:VEVENT", f"UID:{entry.uid}-{number}@cronty", f"DTSTAMP:{_utc(now)}")
        yield f"DTSTART{_local(line.start, zone_name)}"
        parts = [part for part in line.rrule.split(";") if until is None or not part.startswith("UNTIL=")]
        yield "RRULE:" + ";".join([*parts, *([] if until is None else [f"UNTIL={_utc(until)}"])])
        for moment in without:
            yield f"EXDATE{_local(moment, zone_name)}"
        yield from _rest(entry)
    for slot in others:
        yield from _single(entry, slot, now)


def _repeating(
    entry: Entry, rule: Trigger
) -> tuple[Sequence[_Line], list[list[datetime]], list[datetime], datetime | None] | None:
    """The lines, the local times that each leaves out, the slots that none says, and the last slot if it is near."""
    lines = _lines(entry, rule)
    if not lines or len(lines) > _MAX_LINES:
        return None
    until = _end(entry)
    zone_name = rule.zone if isinstance(rule, Zoned) else None
    left_out: list[list[datetime]] = [[] for _ in lines]
    others: list[datetime] = []
    for low, high in _windows(entry, rule, min(until or entry.first + HORIZON, entry.first + HORIZON)):
        wanted = set(_slots(entry, low, high))
        said: set[datetime] = set()
        for line, without in zip(lines, left_out, strict=True):
            for local, slot in _said(line, zone_name, low, high):
                if slot in wanted and slot not in said:
                    said.add(slot)
                elif local not in without:
                    without.append(local)
        others += sorted(wanted - said - set(others))
    if sum(map(len, left_out)) + len(others) > _MAX_LEFT_OUT:
        return None
    return lines, left_out, others, until


def _lines(entry: Entry, rule: Trigger) -> Sequence[_Line]:
    if isinstance(rule, Interval):
        if rule.period % _SECOND or entry.first.microsecond:
            return []
        start = rule.after(entry.first - TICK)
        return [] if start is None else [_Line(start, f"{_rhythm(rule.period // _SECOND)}", rule)]
    calendar = as_calendar(rule, entry.first.date()) if isinstance(rule, Cron) else rule
    if not isinstance(calendar, Calendar):
        return []
    bare = replace(calendar, lists=(), calendars=(), without=(), instead="skip")
    try:
        found = to_rrules(bare, entry.first.astimezone(zone(calendar.zone)).date())
    except BadTrigger:
        return []
    return [_Line(each.start, each.rrule, each.local) for each in found]


def _rhythm(seconds: int) -> str:
    for name, size in (("DAILY", 86_400), ("HOURLY", 3600), ("MINUTELY", 60)):
        if seconds % size == 0:
            return f"FREQ={name};INTERVAL={seconds // size}"
    return f"FREQ=SECONDLY;INTERVAL={seconds}"


def _end(entry: Entry) -> datetime | None:
    """The last slot, if the job ends within the time that is looked at."""
    horizon = entry.first + HORIZON
    until = horizon if entry.ends_at is None else min(horizon, entry.ends_at)
    if entry.remaining is None and until == horizon and _running(entry).after(horizon) is not None:
        return None
    slots = list(_slots(entry, entry.first, until))
    return slots[-1] if slots else None


def _windows(entry: Entry, rule: Trigger, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The times in which a rule and its RRULE may differ: all, or the first day and the days on which clocks change."""
    calendar = as_calendar(rule, entry.first.date()) if isinstance(rule, Cron) else rule
    if not isinstance(calendar, Calendar) or not _is_plain(calendar) or isinstance(entry.slots, Changed):
        yield entry.first - _AROUND, until
        return
    yield entry.first - _AROUND, min(until, entry.first + _AROUND)
    for change in _changes(calendar.zone, entry.first, until):
        yield max(entry.first + _AROUND + TICK, change - _AROUND), min(until, change + _AROUND)
    yield max(entry.first + _AROUND + TICK, until - _AROUND), until


def _is_plain(calendar: Calendar) -> bool:
    if calendar.has_lists or calendar.without or calendar.instead != "skip":
        return False
    return len(calendar.rules) == 1  # several may name the same slot


def _changes(zone_name: str, since: datetime, until: datetime) -> Iterator[datetime]:
    low, high = (int((each - EPOCH) / _SECOND) for each in (since, until))
    offset: int | None = None
    for stretch in forward(zone_name, low, high):
        if offset is not None and stretch.offset != offset:
            yield EPOCH + timedelta(seconds=stretch.start)
        offset = stretch.offset


def _slots(entry: Entry, low: datetime, high: datetime) -> Iterator[datetime]:
    """The slots that run. How many are left counts from the first one."""
    running = _running(entry)
    slot = running.after(max(low, entry.first) - TICK)
    number = running.count(entry.first, slot - TICK) if slot is not None and entry.remaining is not None else 0
    while slot is not None and slot <= high and (entry.ends_at is None or slot <= entry.ends_at):
        number += 1
        if entry.remaining is not None and number > entry.remaining:
            return
        yield slot
        slot = running.after(slot)


def _said(line: _Line, zone_name: str | None, low: datetime, high: datetime) -> Iterator[tuple[datetime, datetime]]:
    """What a line says: local times, and the instants that a reader of the standard takes them for."""
    if zone_name is None:
        slot = line.local.after(max(low, line.start) - TICK)
        while slot is not None and slot <= high:
            yield slot, slot
            slot = line.local.after(slot)
        return
    there = zone(zone_name)
    local = line.local.after(low.astimezone(there).replace(tzinfo=UTC) - _DAY)
    while local is not None:
        bare = local.replace(tzinfo=None)
        # In a gap the standard counts on with the offset before it, which is Python's first fold.
        slot = bare.replace(tzinfo=there).astimezone(UTC)
        if slot > high:
            return
        if slot >= low:
            yield bare, slot
        local = line.local.after(local)


# -- text -----------------------------------------------------------------------------------------------------------


def _single(entry: Entry, slot: datetime, now: datetime) -> Iterator[str]:
    yield from ("BEGIN:VEVENT", f"UID:{entry.uid}-{_utc(slot)}@cronty", f"DTSTAMP:{_utc(now)}", f"DTSTART:{_utc(slot)}")
    yield from _rest(entry)


def _rest(entry: Entry) -> Iterator[str]:
    yield f"SUMMARY:{_text(entry.summary)}"
    yield f"DESCRIPTION:{_text(entry.description)}"
    yield from ("TRANSP:TRANSPARENT", "END:VEVENT")


def _zone(zone_name: str, now: datetime) -> Iterator[str]:
    low, high = (int((each - EPOCH) / _SECOND) for each in (now - HORIZON / 2, now + 2 * HORIZON))
    yield from ("BEGIN:VTIMEZONE", f"TZID:{zone_name}")
    before: int | None = None
    for stretch in forward(zone_name, low, high):
        if stretch.offset == before:
            continue
        kind = "STANDARD" if before is None or stretch.offset < before else "DAYLIGHT"
        start = EPOCH if before is None else EPOCH + timedelta(seconds=stretch.start + before)
        yield from (f"BEGIN:{kind}", f"DTSTART:{start:%Y%m%dT%H%M%S}")
        yield f"TZOFFSETFROM:{_offset(stretch.offset if before is None else before)}"
        yield from (f"TZOFFSETTO:{_offset(stretch.offset)}", f"END:{kind}")
        before = stretch.offset
    yield "END:VTIMEZONE"


def _offset(seconds: int) -> str:
    minutes, rest = divmod(abs(seconds), 60)
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02}{minutes % 60:02}{f'{rest:02}' if rest else ''}"


def _local(moment: datetime, zone_name: str | None) -> str:
    return f":{_utc(moment)}" if zone_name is None else f";TZID={zone_name}:{moment:%Y%m%dT%H%M%S}"


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _text(value: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in value)
    return plain.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")


def _folded(line: str) -> str:
    """No line is longer than 75 bytes; one that goes on begins with a space."""
    parts: list[str] = []
    part = ""
    for letter in line:
        if len((part + letter).encode()) > (75 if not parts else 74):
            parts.append(part)
            part = ""
        part += letter
    return "\r\n ".join([*parts, part])
