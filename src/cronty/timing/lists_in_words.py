"""Lists of days off in words: "every weekday at 9:00 except holidays in Germany", "… unless DE-BY"."""

import re
from dataclasses import replace
from datetime import date
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.cron import Cron
from cronty.timing.cron_rules import as_calendar
from cronty.timing.errors import Unread
from cronty.timing.trigger import Trigger

_LIST: Final = r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?: (?!and\b|at\b)[A-Z][a-z]+){0,3}"
_CODE: Final = r"[A-Z]{2}(?:-[A-Z0-9]{1,3})?"
_LEFT_OUT: Final = re.compile(
    r",?\s+(?i:except|excluding|unless|but not)(?i:\s+(?:it's|it is|on|for|a|any|the|public|bank))*"
    rf"\s+(?:(?i:holidays?|days? off)\s+(?i:in|of|by)\s+(?:(?i:the)\s+)?({_LIST}(?:(?:\s*,\s*|\s+and\s+){_LIST})*)"
    rf"|({_CODE}(?:(?:\s*,\s*|\s+and\s+){_CODE})*))(?=\s*(?:[,;]|$)|\s+at\b)"
)
_BETWEEN: Final = re.compile(r"\s*,\s*|\s+and\s+")


def split_lists(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what is said without the lists of days off that are left out, and their names."""
    found = _LEFT_OUT.search(text)
    if found is None:
        return text, ()
    names = tuple(name for name in _BETWEEN.split(found[1] or found[2]) if name)
    return text[: found.start()] + text[found.end() :], names


def said_lists(names: tuple[str, ...]) -> str:
    """Return the end of a sentence that leaves lists out; `split_lists` reads it."""
    return f", except on days off of {' and '.join(names)}" if names else ""


def without_lists(trigger: Trigger, names: tuple[str, ...], text: str, today: date) -> Trigger:
    """Return the trigger as a calendar that goes by these lists."""
    calendar = as_calendar(trigger, today) if isinstance(trigger, Cron) else trigger
    if isinstance(calendar, Calendar):
        return replace(calendar, calendars=names)
    raise Unread(
        f'Can\'t leave days off out of "{text}"',
        'Say days and times, as in "every weekday at 9:00 except holidays in DE-BY".',
    )
