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
from cronty.timing.words.tokens import LONGEST

# The words of a schedule with the names of its lists; what is longer is refused as words.
_LONGEST: Final = 2 * LONGEST
_DAYS: Final = r"(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?)(?![-\w])"
_TWO_WORDS: Final = (
    r"(?i:new zealand|united kingdom|united states|south africa|south korea|saudi arabia|hong kong|sri lanka)"
)
# Blanks are single here. No part of a text matches in two ways that end at the same place: with two ways for each of n
# names, a text that isn't one in the end would take 2**n steps.
_LIST: Final = (
    rf"(?:{_TWO_WORDS}|(?!{_DAYS})(?!{_TWO_WORDS}(?! [A-Z]))"
    r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?: (?!and\b|at\b)[A-Z][a-z]+){0,3})"
)
_CODE: Final = r"(?:[A-Z]{2}(?:-[A-Z0-9]{1,3})?|[a-z]{2}-[a-z0-9]{1,3})"
_SEPARATOR: Final = r"(?: ?, ?| and )"
# What may follow: a mark, the end, another clause, or a zone.
_NEXT: Final = (
    r"(?= ?(?:[.!,;]|$)| (?i:at|on|until|till|through|starting|from|for|every|each|please|thanks)\b"
    rf"| and {_DAYS}| (?:[A-Z]\w+ ){{1,3}}time\b| [A-Z]\w+/[A-Z]\w+)"
)
_NAMED: Final = (
    r"(?i: (?:it's|it is|on|for|a|any|the|public|bank))*"
    rf" (?:(?i:holidays?|days? off) (?i:in|of|by) (?:(?i:the) )?({_LIST}(?:{_SEPARATOR}{_LIST})*)"
    rf"|({_CODE}(?:{_SEPARATOR}{_CODE})*)){_NEXT}"
)
_LEFT_OUT: Final = re.compile(rf",? (?i:except|excluding|unless|but not){_NAMED}")
# "except Fridays and holidays in Germany": both are left out.
_EXCEPT: Final = rf"(?i:except|excluding|but not) (?:on )?{_DAYS}"
_LEFT_OUT_TOO: Final = re.compile(rf"{_EXCEPT}(?:(?!{_EXCEPT})[^,;])*?(,? (?i:and){_NAMED})")
_AND_DAYS: Final = re.compile(rf" and (?={_DAYS})")
_BETWEEN: Final = re.compile(_SEPARATOR)


def split_lists(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what is said without the lists of days off that are left out, and their names."""
    if len(text) > _LONGEST:
        return text, ()
    text = " ".join(text.split())
    if (found := _LEFT_OUT.search(text)) is not None:
        start, said = found.start(), found[1] or found[2]
    elif (found := _LEFT_OUT_TOO.search(text)) is not None:
        start, said = found.start(1), found[2] or found[3]
    else:
        return text, ()
    names = tuple(_coded(name) for name in _BETWEEN.split(said) if name)
    # "except holidays in Germany and Fridays": the Fridays are left out too.
    return text[:start] + _AND_DAYS.sub(" except ", text[found.end() :], count=1), names


def _coded(name: str) -> str:
    """A code of a country and a region is in capitals: `de-by`."""
    return name.upper() if re.fullmatch(r"[a-z]{2}-[a-z0-9]{1,3}", name) else name


def said_lists(names: tuple[str, ...]) -> str:
    """Return the end of a sentence that leaves lists out; `split_lists` reads it."""
    return f", except on days off of {' and '.join(names)}" if names else ""


def without_lists(trigger: Trigger, names: tuple[str, ...], text: str, today: date) -> Trigger:
    """Return the trigger as a calendar that uses these lists."""
    calendar = as_calendar(trigger, today, by_days_off=True) if isinstance(trigger, Cron) else trigger
    if isinstance(calendar, Calendar):
        return replace(calendar, calendars=names)
    raise Unread(
        f'Can\'t leave days off out of "{text}"',
        'Say days and times, as in "every weekday at 9:00 except holidays in DE-BY".',
    )
