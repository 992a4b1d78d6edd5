"""The days of an iCalendar file, as days off: each all-day event is one, with its summary as the name.

Events with a time of the day aren't days off and are left out. An event that repeats each year on its date is taken for
ten years; any other RRULE is refused by name.
"""

import re
from datetime import date, timedelta
from typing import Final

from cronty.timing.days_off import MAX_DAY_NAME, MAX_DAYS, NamedCalendar
from cronty.timing.errors import BadTrigger, shown

LONGEST: Final = 1_000_000
_YEARS: Final = 10
_DATE: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_ESCAPED: Final = re.compile(r"\\([\\;,nN])")
_DAY: Final = timedelta(days=1)


def read_ics(text: str, today: date) -> NamedCalendar:
    """Return the days of the all-day events in a file."""
    if len(text) > LONGEST:
        raise BadTrigger(f"The file has {len(text)} characters", f"At most {LONGEST:,}.")
    off: dict[date, str] = {}
    walked = 0  # days of all events, also those that are in there already: what reading costs is bounded by it
    event: dict[str, str] | None = None
    for line in _unfolded(text):
        name, _, value = line.partition(":")
        name, _, parameters = name.upper().partition(";")
        if line.upper() == "BEGIN:VEVENT":
            event = {}
        elif line.upper() == "END:VEVENT" and event is not None:
            days, reason = _days(event, today), f"holiday ({_summary(event)})"
            walked += max(1, len(days))
            for day in days:
                off.setdefault(day, reason)
            event = None
        elif event is not None and name in ("DTSTART", "DTEND", "SUMMARY", "RRULE"):
            event[name] = value.strip()
            if name == "DTSTART" and "VALUE=DATE" not in parameters.split(";"):
                event["TIMED"] = "yes"
        if walked > MAX_DAYS:
            raise BadTrigger("Too many days in the file", f"At most {MAX_DAYS}.")
    if not off:
        raise BadTrigger("No all-day event in the file", "Give an iCalendar file with the days off as all-day events.")
    return NamedCalendar(off)


def _unfolded(text: str) -> list[str]:
    """Lines that begin with a space go on with the one before."""
    return re.sub(r"\r?\n[ \t]", "", text).splitlines()


def _days(event: dict[str, str], today: date) -> list[date]:
    if "TIMED" in event or "DTSTART" not in event:
        return []
    first = _date(event["DTSTART"])
    end = _date(event["DTEND"]) if _DATE.fullmatch(event.get("DTEND", "")) else first + _DAY
    length = max(1, min((end - first).days, MAX_DAYS))
    if "RRULE" not in event:
        return [first + number * _DAY for number in range(length)]
    parts = set(event["RRULE"].upper().split(";")) - {"INTERVAL=1", f"BYMONTH={first.month}", f"BYMONTHDAY={first.day}"}
    if parts != {"FREQ=YEARLY"} or length > 366:
        raise BadTrigger(
            f"Can't take days from this RRULE: {shown(event['RRULE'])}", "Only FREQ=YEARLY on the same date repeats."
        )
    since = max(first.year, today.year - 1)
    return [
        day + number * _DAY
        for year in range(since, since + _YEARS)
        for day in _in_year(first, year)
        for number in range(length)
    ]


def _in_year(day: date, year: int) -> list[date]:
    """29 February comes only in leap years."""
    try:
        return [day.replace(year=year)]
    except ValueError:
        return []


def _date(text: str) -> date:
    found = _DATE.fullmatch(text)
    try:
        day = date(*map(int, found.groups())) if found else None
    except ValueError:
        day = None
    if day is None or not 1970 <= day.year <= 9900:
        raise BadTrigger(f"Invalid day in the file: {shown(text)}", "Days are written as in 20271225.")
    return day


def _summary(event: dict[str, str]) -> str:
    name = _ESCAPED.sub(lambda found: " " if found[1] in "nN" else found[1], event.get("SUMMARY", ""))
    name = "".join(letter for letter in name if letter.isprintable()).strip()
    return name[:MAX_DAY_NAME] or "day off"
