"""The days of an iCalendar file, as days off: each all-day event is one, with its summary as the name.

Events with a time of the day aren't days off and are left out, as are those that are cancelled. An event that repeats
each year on its date is taken for ten years; any other RRULE is refused by name. TRANSP isn't looked at: it says
whether people are busy, and the holidays that countries publish are TRANSPARENT.
"""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice
from typing import Final

from cronty.timing.days_off import MAX_DAY_NAME, MAX_DAYS
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.named_calendar import NamedCalendar

LONGEST: Final = 1_000_000
MAX_LINES: Final = 100_000
_YEARS: Final = 10
_DATE: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T000000Z?)?")
_LENGTH: Final = re.compile(r"\+?P([0-9]{1,4})([DW])(?:T0[HMS])?")
_ESCAPED: Final = re.compile(r"\\([\\;,nN])")
_DAY: Final = timedelta(days=1)
_NO_DAYS: Final[frozenset[date]] = frozenset()


@dataclass(slots=True)
class _Event:
    """The properties of an event, each with its parameters; RDATE and EXDATE may come several times."""

    values: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    more: list[str] = field(default_factory=list[str])
    without: list[str] = field(default_factory=list[str])

    def put(self, name: str, parameters: str, value: str) -> None:
        if name in ("RDATE", "EXDATE"):
            days = self.more if name == "RDATE" else self.without
            if len(days) + value.count(",") >= MAX_DAYS:
                raise _too_many()
            days += value.split(",")
        else:
            self.values[name] = (parameters, value)

    def get(self, name: str) -> str:
        return self.values.get(name, ("", ""))[1]

    @property
    def is_all_day(self) -> bool:
        return "VALUE=DATE" in self.values.get("DTSTART", ("", ""))[0].split(";")

    @property
    def is_cancelled(self) -> bool:
        return self.get("STATUS").upper() == "CANCELLED"

    @property
    def instead_of(self) -> date | None:
        """The day of an event of the same UID that this one replaces; None if it is no replacement, or of a time."""
        parameters, value = self.values.get("RECURRENCE-ID", ("", ""))
        if not _DATE.fullmatch(value):
            return None
        if "RANGE=" in parameters:
            raise BadTrigger(f"Can't take days from this RECURRENCE-ID: {shown(parameters)}", "Replace single days.")
        return _date(value)


def read_ics(text: str, today: date) -> NamedCalendar:
    """Return the days of the all-day events in a file."""
    if len(text) > LONGEST:
        raise BadTrigger(f"The file has {len(text)} characters", f"At most {LONGEST:,}.")
    if (lines := max(text.count("\n"), text.count("\r"))) > MAX_LINES:
        raise BadTrigger(f"The file has {lines} lines", f"At most {MAX_LINES:,}.")
    events = list(islice(_events(text), MAX_DAYS + 1))
    if len(events) > MAX_DAYS:  # each counts as a day at least
        raise _too_many()
    replaced: dict[str, set[date]] = {}
    for event in events:
        if event.get("UID") and (day := event.instead_of) is not None:
            replaced.setdefault(event.get("UID"), set()).add(day)
    off: dict[date, str] = {}
    walked = 0  # days of all events, also those that are in there already: what reading costs is bounded by it
    for event in events:
        taken = _NO_DAYS if event.get("RECURRENCE-ID") else replaced.get(event.get("UID"), _NO_DAYS)
        days, reason = _days(event, taken, today), f"holiday ({_summary(event)})"
        walked += max(1, len(days))
        if walked > MAX_DAYS:
            raise _too_many()
        for day in days:
            off.setdefault(day, reason)
    if not off:
        raise BadTrigger("No all-day event in the file", "Give an iCalendar file with the days off as all-day events.")
    return NamedCalendar(off)


def _events(text: str) -> Iterator[_Event]:
    """Yield each event; what stands in a part of it, such as an alarm, is not about the event."""
    event, inner = None, 0
    for line in _lines(text):
        name, _, value = line.partition(":")
        name, _, parameters = name.upper().partition(";")
        if event is None:
            event = _Event() if line.upper() == "BEGIN:VEVENT" else None
        elif name == "BEGIN":
            inner += 1
        elif name == "END" and inner:
            inner -= 1
        elif line.upper() == "END:VEVENT":
            yield event
            event = None
        elif not inner:
            event.put(name, parameters, value.strip())


def _lines(text: str) -> list[str]:
    """The lines of a file: those that begin with a space go on with the one before; no other mark ends a line."""
    return re.split(r"\r\n|\n|\r", re.sub(r"(\r\n|\n|\r)[ \t]", "", text))


def _days(event: _Event, replaced: AbstractSet[date], today: date) -> list[date]:
    if not event.is_all_day or event.is_cancelled:
        return []
    first = _date(event.get("DTSTART"))
    length = _length(event, first)
    starts = [first] if not event.get("RRULE") else _yearly(event.get("RRULE"), first, length, today)
    left_out = set(map(_date, event.without))
    begins = dict.fromkeys((*starts, *map(_date, event.more)))
    begins = [day for day in begins if day not in left_out and day not in replaced]
    if len(begins) * length > MAX_DAYS:
        raise _too_many()
    return [day + number * _DAY for day in begins for number in range(length)]


def _too_many() -> BadTrigger:
    return BadTrigger("Too many days in the file", f"At most {MAX_DAYS}.")


def _length(event: _Event, first: date) -> int:
    """How many days it lasts: until DTEND, or as long as DURATION says."""
    if duration := event.get("DURATION"):
        found = _LENGTH.fullmatch(duration.upper())
        if found is None:
            raise BadTrigger(f"Can't take days from this DURATION: {shown(duration)}", "Whole days, as in P3D or P1W.")
        days = int(found[1]) * (7 if found[2] == "W" else 1)
    else:
        days = (_date(event.get("DTEND")) - first).days if _DATE.fullmatch(event.get("DTEND")) else 1
    return max(1, min(days, MAX_DAYS))


def _yearly(rule: str, first: date, length: int, today: date) -> list[date]:
    """The days of ten years, as far as the rule goes."""
    parts = {name: value for name, _, value in (part.partition("=") for part in rule.upper().split(";"))}
    count, until = parts.pop("COUNT", ""), parts.pop("UNTIL", "")
    parts.pop("WKST", None)  # where weeks begin changes nothing
    same = {"FREQ": "YEARLY", "INTERVAL": "1", "BYMONTH": str(first.month), "BYMONTHDAY": str(first.day)}
    known = parts.get("FREQ") == "YEARLY" and all(same.get(name) == value for name, value in parts.items())
    if not known or length > 366 or (count and not re.fullmatch(r"[1-9][0-9]{0,5}", count)):
        raise BadTrigger(
            f"Can't take days from this RRULE: {shown(rule)}", "Only FREQ=YEARLY on the same date repeats."
        )
    final = _date(until[:8]) if until else date.max
    since = max(first.year, today.year - 1)
    every = (day for year in range(first.year, since + _YEARS) for day in _in_year(first, year))
    return [day for day in islice(every, int(count) if count else None) if day.year >= since and day <= final]


def _in_year(day: date, year: int) -> list[date]:
    """29 February comes only in leap years."""
    try:
        return [day.replace(year=year)]
    except ValueError:
        return []


def _date(text: str) -> date:
    found = _DATE.fullmatch(text.strip())
    try:
        day = date(*map(int, found.groups())) if found else None
    except ValueError:
        day = None
    if day is None or not 1970 <= day.year <= 9900:
        raise BadTrigger(f"Invalid day in the file: {shown(text)}", "Days are written as in 20271225.")
    return day


def _summary(event: _Event) -> str:
    name = _ESCAPED.sub(lambda found: " " if found[1] in "nN" else found[1], event.get("SUMMARY"))
    name = "".join(letter for letter in name if letter.isprintable()).strip()
    return name[:MAX_DAY_NAME] or "day off"
