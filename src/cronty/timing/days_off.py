"""Named calendars: lists of days off that several jobs go by, and what a trigger takes over from them.

A trigger holds days, never a promise to look them up: a worker that fires it needs no list, no package and no other
row, and every worker fires the same slots. So a list is read when the trigger is made, by whoever makes it, for three
years ahead; when the list changes, or a year has passed, its jobs are made anew with `with_days_off` and their next
slots computed again, as after a change of the zone database. Between the two the old days stand: a holiday that is
declared tonight counts from the moment it is in the list, not from the moment it was declared.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, cast

from cronty.timing.calendar import MOST_DATES, Calendar, DayOff
from cronty.timing.calendar_rule import check_year
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.near import near

AHEAD: Final = timedelta(days=3 * 366)
"""How far ahead a trigger knows its days off."""
MOST_DAYS: Final = 4000
LONGEST_NAME: Final = 100
_BEHIND: Final = timedelta(days=62)
_DAY: Final = timedelta(days=1)
_KEYS: Final = frozenset({"days", "windows", "make_up_days"})
_EXAMPLE: Final = (
    '{"days": {"2027-12-25": "Christmas Day"}, "windows": [{"from": "2027-12-20", "through": "2028-01-03", '
    '"name": "Year-end freeze"}], "make_up_days": ["2027-10-09"]}'
)


class UnknownCalendar(BadTrigger):
    """A name that no list has."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        likely = near(name, known, 3) or sorted(known)[:3]
        hint = f"Use {' or '.join(map(shown, likely))}." if likely else 'Leave days out by their dates, in "without".'
        super().__init__(f"Unknown calendar: {shown(name)}", hint)


@dataclass(frozen=True, slots=True)
class NamedCalendar:
    """Days off by their reasons, such as `holiday (Christmas Day)`, and make-up days, which win."""

    off: Mapping[date, str]
    on: frozenset[date] = frozenset()


def read_days_off(value: Mapping[str, object]) -> NamedCalendar:
    """Return an owner's own list from its form in JSON: days with names, windows of days, make-up days."""
    strange = value.keys() - _KEYS
    if strange or not value:
        what = f"unknown key {shown(min(map(str, strange)))}" if strange else "it is empty"
        raise BadTrigger(f"Invalid list of days off: {what}", f"Give it as {_EXAMPLE}.")
    off: dict[date, str] = {}
    walked = 0  # days of all windows, also where they overlap
    for window in _list(value.get("windows", []), "windows"):
        said = _object(window, "windows")
        if set(said) != {"from", "through", "name"}:
            raise BadTrigger(f"Invalid window: {shown(said)}", f"Give windows as in {_EXAMPLE}.")
        first, through, name = _day(said["from"]), _day(said["through"]), _name(said["name"])
        if not 0 <= (through - first).days < MOST_DAYS - walked:
            raise BadTrigger(f"Invalid window: {first} through {through}", f"At most {MOST_DAYS} days in all.")
        walked += (through - first).days + 1
        off |= {first + number * _DAY: f"freeze ({name})" for number in range((through - first).days + 1)}
    days = _object(value.get("days", {}), "days")
    off |= {_day(day): f"holiday ({_name(name)})" for day, name in days.items()}
    on = frozenset(_day(each) for each in _list(value.get("make_up_days", []), "make_up_days"))
    if len(off) + len(on) > MOST_DAYS:
        raise BadTrigger(f"Too many days off: {len(off) + len(on)}", f"At most {MOST_DAYS}.")
    return NamedCalendar(off, on)


def with_days_off(calendar: Calendar, known: Mapping[str, NamedCalendar], today: date) -> Calendar:
    """Return the calendar with the days that the lists it names have from now on; an unknown name is refused.

    What one list makes a make-up day is one, whatever the others say.
    """
    if not calendar.calendars:
        return calendar
    off: dict[date, str] = {}
    on: set[date] = set()
    for name in calendar.calendars:
        if name not in known:
            raise UnknownCalendar(name, known)
        off |= {day: reason for day, reason in known[name].off.items() if day not in off}
        on |= known[name].on
    since, until = today - _BEHIND, today + AHEAD
    days = sorted(day for day in off if since <= day <= until and day not in on)[:MOST_DATES]
    make_up = sorted(day for day in on if since <= day <= until)[:MOST_DATES]
    return replace(calendar, off=tuple(DayOff(day, off[day]) for day in days), on=tuple(make_up))


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise BadTrigger(f'Invalid "{what}" of a list of days off: {shown(value)}', f"As in {_EXAMPLE}.")
    return cast("Mapping[str, object]", value)


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list | tuple):
        raise BadTrigger(f'Invalid "{what}" of a list of days off: {shown(value)}', f"As in {_EXAMPLE}.")
    return list(cast("list[object]", value))


def _day(value: object) -> date:
    try:
        if isinstance(value, str) and len(value) == 10:
            day = date.fromisoformat(value)
            check_year(day, "day")
            return day
    except ValueError as wrong:
        if isinstance(wrong, BadTrigger):
            raise
    raise BadTrigger(f"Invalid day: {shown(value)}", "Give a day as in 2027-12-31.")


def _name(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME or not value.isprintable():
        raise BadTrigger(f"Invalid name of a day off: {shown(value)}", f"Use 1 to {LONGEST_NAME} characters.")
    return value
