"""Named calendars: lists of days off that several jobs go by.

A trigger is stored with the names of its lists, and given their days whenever it is read: so a list is kept once, has
no end, and counts as it is when a slot is due. Names are the same in upper and lower case.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final, cast

from cronty.timing.calendar import Calendar
from cronty.timing.calendar_rule import check_year
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.near import near

MAX_DAYS: Final = 4000
MAX_DAY_NAME: Final = 100
_DAY: Final = timedelta(days=1)
_NO_LIST: Final = "for days of your own make a list with save_calendar, or leave days out by their dates"
_KEYS: Final = frozenset({"days", "windows", "make_up_days"})
_EXAMPLE: Final = (
    '{"days": {"2027-12-25": "Christmas Day"}, "windows": [{"from": "2027-12-20", "through": "2028-01-03", '
    '"name": "Year-end freeze"}], "make_up_days": ["2027-10-09"]}'
)


class UnknownCalendar(BadTrigger):
    """A name that no list has."""

    def __init__(self, name: str, known: Collection[str]) -> None:
        likely = near(name, known, 3)
        codes = "For public holidays say the code of a country or region, such as DE or DE-BY"
        own = f"for a list of your own use {' or '.join(map(shown, sorted(known)[:3]))}" if known else _NO_LIST
        hint = f"Use {' or '.join(map(shown, likely))}." if likely else f"{codes}; {own}."
        super().__init__(f"Unknown calendar: {shown(name)}", hint)


def read_days_off(value: Mapping[str, object]) -> NamedCalendar:
    """Return an owner's own list from its form in JSON: days with names, windows of days, make-up days."""
    strange = value.keys() - _KEYS
    if strange or not value:
        what = f"unknown key {shown(min(map(str, strange)))}" if strange else "it is empty"
        raise BadTrigger(f"Invalid list of days off: {what}", f"Give it as {_EXAMPLE}.")
    windows = _list(value.get("windows", []), "windows")
    days, made_up = _object(value.get("days", {}), "days"), _list(value.get("make_up_days", []), "make_up_days")
    if (many := len(windows) + len(days) + len(made_up)) > MAX_DAYS:
        raise BadTrigger(f"Too many days off: {many}", f"At most {MAX_DAYS}.")
    off: dict[date, str] = {}
    walked = 0  # days of all windows, also where they overlap
    for window in windows:
        said = _object(window, "windows")
        if set(said) != {"from", "through", "name"}:
            raise BadTrigger(f"Invalid window: {shown(said)}", f"Give windows as in {_EXAMPLE}.")
        first, through, name = _day(said["from"]), _day(said["through"]), _name(said["name"])
        if not 0 <= (through - first).days < MAX_DAYS - walked:
            raise BadTrigger(f"Invalid window: {first} through {through}", f"At most {MAX_DAYS} days in all.")
        walked += (through - first).days + 1
        off |= {first + number * _DAY: f"freeze ({name})" for number in range((through - first).days + 1)}
    off |= {_day(day): f"holiday ({_name(name)})" for day, name in days.items()}
    on = frozenset(_day(each) for each in made_up)
    if len(off) + len(on) > MAX_DAYS:
        raise BadTrigger(f"Too many days off: {len(off) + len(on)}", f"At most {MAX_DAYS}.")
    return NamedCalendar(off, on)


def with_days_off(calendar: Calendar, known: Mapping[str, NamedCalendar]) -> Calendar:
    """Return the calendar with the lists it names; an unknown name is refused.

    `known` has the lists by their names in lower case.
    """
    return replace(calendar, lists=lists_of(calendar.calendars, known)) if calendar.calendars else calendar


def lists_of(names: Iterable[str], known: Mapping[str, NamedCalendar]) -> tuple[NamedCalendar, ...]:
    """Return the lists of these names."""
    for name in names:
        if name.lower() not in known:
            raise UnknownCalendar(name, known)
    return tuple(known[name.lower()] for name in names)


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
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_DAY_NAME or not value.isprintable():
        raise BadTrigger(f"Invalid name of a day off: {shown(value)}", f"Use 1 to {MAX_DAY_NAME} characters.")
    return value
