"""A calendar as a JSON object, and back; what can't be read is refused with an example."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from functools import lru_cache
from typing import Final, cast

from cronty.timing.calendar import MAX_DATES, MAX_RULES, Calendar, Instead
from cronty.timing.calendar_rule import UNITS, CalendarRule, Span, Unit, clock
from cronty.timing.days_off import lists_of
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.zoned import Gap, Overlap

WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
EXAMPLE: Final = (
    '{"rules": [{"times": ["09:00", "17:30"], "weekdays": ["MO", "TH"]}, {"times": ["08:00"], "days": [-1]}]}'
)
KEYS: Final = ("rules", "starts", "ends", "without", "calendars", "instead")
STORED_KEYS: Final = frozenset({"kind", "zone", "gap", "overlap", "off", "on", *KEYS})
_RULE_KEYS: Final = frozenset({"times", "every", "unit", "since", "months", "days", "weekdays", "business_days"})
_TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_WEEKDAY: Final = re.compile(r"([+-]?[0-9])?([A-Z]{2,9})")
_FULL: Final = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_DAY: Final = timedelta(days=1)


def calendar_to_json(calendar: Calendar, *, days: bool = True) -> dict[str, object]:
    """Return the calendar as an object that `calendar_from_json` reads back to an equal one; without `days`, its lists
    of days off are there by their names only."""
    found: dict[str, object] = {
        "kind": "calendar",
        "zone": calendar.zone,
        "rules": [_rule_to_json(rule) for rule in calendar.rules],
    }
    if calendar.starts is not None:
        found["starts"] = calendar.starts.isoformat()
    if calendar.ends is not None:
        found["ends"] = calendar.ends.isoformat()
    if calendar.without:
        found["without"] = _said_dates(calendar.without)
    if calendar.calendars:
        found["calendars"] = list(calendar.calendars)
    if calendar.instead != "skip":
        found["instead"] = calendar.instead
    if days and (off := calendar.off):
        found["off"] = {each.day.isoformat(): each.reason for each in off}
    if days and (on := calendar.on):
        found["on"] = [day.isoformat() for day in on]
    if calendar.gap != "run_after":
        found["gap"] = calendar.gap
    if calendar.overlap != "first":
        found["overlap"] = calendar.overlap
    return found


def calendar_from_json(value: Mapping[str, object], lists: Mapping[str, NamedCalendar] | None = None) -> Calendar:
    """Return the calendar that an object describes; without a zone it is in UTC. With `lists` it gets the days of those
    that it names."""
    _known(value, STORED_KEYS, "calendar trigger")
    if "rules" not in value:
        raise BadTrigger('"rules" is missing in a calendar trigger', f"Give it as {EXAMPLE}.")
    names = tuple(_text(each, "calendars") for each in _list(value.get("calendars", []), "calendars", least=0))
    if names and lists is not None:
        named = lists_of(names, lists)
    else:
        on = frozenset(_day(each, "on") for each in _list(value.get("on", []), "on", least=0, most=None))
        off = {day: reason for day, reason in _days_off(value.get("off", {})).items() if day not in on}
        named = (NamedCalendar(off, on),) if off or on else ()
    return Calendar(
        tuple(_rule_from_json(each) for each in _list(value["rules"], "rules", most=MAX_RULES)),
        zone=_text(value.get("zone", "UTC"), "zone"),
        starts=_day(value["starts"], "starts") if "starts" in value else None,
        ends=_day(value["ends"], "ends") if "ends" in value else None,
        without=_dates(_list(value["without"], "without")) if "without" in value else (),
        calendars=names,
        instead=cast("Instead", value.get("instead", "skip")),
        lists=named,
        gap=cast("Gap", value.get("gap", "run_after")),
        overlap=cast("Overlap", value.get("overlap", "first")),
    )


# -- one rule -----------------------------------------------------------------------------------------------------


def _rule_to_json(rule: CalendarRule) -> dict[str, object]:
    found: dict[str, object] = {"times": [clock(time) if isinstance(time, int) else str(time) for time in rule.times]}
    if rule.every > 1 and rule.since is not None:
        found |= {"every": rule.every, "unit": rule.unit, "since": rule.since.isoformat()}
    if rule.weekdays or rule.nths:
        found["weekdays"] = [
            *(WEEKDAYS[day] for day in rule.weekdays),
            *(f"{nth}{WEEKDAYS[day]}" for nth, day in rule.nths),
        ]
    if rule.days:
        found["days"] = list(rule.days)
    if rule.business_days:
        found["business_days"] = list(rule.business_days)
    if rule.months:
        found["months"] = list(rule.months)
    return found


def _rule_from_json(value: object) -> CalendarRule:
    if not isinstance(value, Mapping):
        raise BadTrigger(f"Invalid calendar rule: {shown(value)}", f"Give rules as {EXAMPLE}.")
    said = cast("Mapping[str, object]", value)
    _known(said, _RULE_KEYS, "calendar rule")
    if "times" not in said:
        raise BadTrigger('"times" is missing in a calendar rule', 'As in {"times": ["09:00", "17:30"]}.')
    weekdays = [_weekday(each) for each in _given(said, "weekdays")]
    every, unit = said.get("every", 1), said.get("unit", "day")
    if unit == "quarter" and isinstance(every, int) and "since" in said:
        every, unit = 3 * every, "month"
    return CalendarRule(
        tuple(_time(each) for each in _list(said["times"], "times")),
        every=_whole(every, "every"),
        unit=_unit(unit),
        since=_day(said["since"], "since") if "since" in said else None,
        months=_wholes(said, "months"),
        days=_wholes(said, "days"),
        weekdays=tuple(day for nth, day in weekdays if nth is None),
        nths=tuple((nth, day) for nth, day in weekdays if nth is not None),
        business_days=_wholes(said, "business_days"),
    )


def _unit(value: object) -> Unit:
    if value == "quarter":
        raise BadTrigger(
            'A calendar rule of every quarter needs "since"',
            'As in {"every": 1, "unit": "quarter", "since": "2027-01-01"}, or name its months: [1, 4, 7, 10].',
        )
    if value not in UNITS:
        raise BadTrigger(f'Invalid "unit" of a calendar rule: {shown(value)}', "Use day, week, month, quarter or year.")
    return value


def _time(value: object) -> int | Span:
    return _read_time(_text(value, "times"))


@lru_cache(maxsize=4096)
def _read_time(text: str) -> int | Span:
    span, slash, step = text.partition("/")
    first, dash, final = span.partition("-")
    if not dash and not slash:
        return _minute(first, text)
    if not dash or not slash or not (step.isascii() and step.isdecimal()) or len(step) > 4:
        raise _bad_time(text)
    return Span(_minute(first, text), _minute(final, text), int(step))


def _minute(text: str, whole: str) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        raise _bad_time(whole)
    return int(found[1]) * 60 + int(found[2])


def _bad_time(text: str) -> BadTrigger:
    return BadTrigger(
        f'Invalid "times" of a calendar rule: {shown(text)}',
        'Use "09:00", "17:30", or a range with its step in minutes, as in "08:00-21:30/45".',
    )


def _weekday(value: object) -> tuple[int | None, int]:
    found = _read_weekday(value) if isinstance(value, str) else None
    if found is None:
        raise BadTrigger(
            f'Invalid "weekdays" of a calendar rule: {shown(value)}',
            'Use "MO" to "SU", "1MO" for the first Monday of the month, "-1FR" for the last Friday.',
        )
    return found


@lru_cache(maxsize=256)
def _read_weekday(text: str) -> tuple[int | None, int] | None:
    found = _WEEKDAY.fullmatch(text.upper()) if text.isascii() else None
    day = next((day for day, name in enumerate(_FULL) if found and name.startswith(found[2])), None)
    return None if found is None or day is None else (None if found[1] is None else int(found[1]), day)


# -- parts --------------------------------------------------------------------------------------------------------


def _known(value: Mapping[str, object], known: frozenset[str], what: str) -> None:
    strange = value.keys() - known
    if strange:
        raise BadTrigger(
            f"Unknown key for a {what}: {shown(min(map(str, strange)))}",
            f"Known are {', '.join(sorted(known - {'kind', 'off', 'on'}))}. Example: {EXAMPLE}",
        )


def _list(value: object, what: str, least: int = 1, most: int | None = MAX_DATES) -> list[object]:
    """A list, counted before anything in it is read."""
    found = list(cast("list[object]", value)) if isinstance(value, list | tuple) else None
    if found is None or len(found) < least:
        raise BadTrigger(
            f'Invalid "{what}" of a calendar: {shown(cast("object", value))}', "Give a list, or leave it out."
        )
    if most is not None and len(found) > most:
        raise BadTrigger(f'Invalid "{what}" of a calendar: there are {len(found)}', f"Name 1 to {most}.")
    return found


def _given(value: Mapping[str, object], key: str) -> list[object]:
    return _list(value[key], key) if key in value else []


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise BadTrigger(f'Invalid "{what}" of a calendar: {shown(value)}', f"It must be text. Example: {EXAMPLE}")
    return value


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadTrigger(f'Invalid "{what}" of a calendar rule: {shown(value)}', "It must be a whole number.")
    return value


def _wholes(value: Mapping[str, object], key: str) -> tuple[int, ...]:
    return tuple(_whole(each, key) for each in _given(value, key))


def _day(value: object, what: str) -> date:
    try:
        if isinstance(value, str) and len(value) == 10:
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise BadTrigger(f'Invalid "{what}" of a calendar: {shown(value)}', "Give a day as in 2027-12-31.")


def _dates(values: Iterable[object]) -> tuple[date, ...]:
    found: list[date] = []
    for value in values:
        first, slash, final = _text(value, "without").partition("/")
        start = _day(first, "without")
        if not slash and len(found) < MAX_DATES:
            found.append(start)
            continue
        end = _day(final, "without") if slash else start
        days = (end - start).days + 1
        if days < 1:
            raise BadTrigger(f'Invalid "without" of a calendar: {shown(value)}', "A range must end after it starts.")
        if len(found) + days > MAX_DATES:
            raise BadTrigger(
                'Invalid "without" of a calendar: too many days', f"At most {MAX_DATES}; use a named calendar."
            )
        found += (start + each * _DAY for each in range(days))
    return tuple(found)


def _said_dates(days: tuple[date, ...]) -> list[str]:
    """Neighbors as a range."""
    runs: list[list[date]] = []
    for day in days:
        if runs and day - runs[-1][-1] == _DAY:
            runs[-1].append(day)
        else:
            runs.append([day])
    return [run[0].isoformat() if len(run) == 1 else f"{run[0].isoformat()}/{run[-1].isoformat()}" for run in runs]


def _days_off(value: object) -> dict[date, str]:
    if not isinstance(value, Mapping):
        raise BadTrigger(
            f'Invalid "off" of a calendar: {shown(value)}', 'As in {"2027-12-25": "holiday (Christmas Day)"}.'
        )
    named = cast("Mapping[object, object]", value)
    return {_day(day, "off"): _text(reason, "off") for day, reason in named.items()}
