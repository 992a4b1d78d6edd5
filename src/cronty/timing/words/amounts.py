"""Lengths of time: `2h30m`, `90 minutes`, `an hour and a half`, `PT1H30M`."""

from datetime import timedelta
from typing import Final

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.said import Amount
from cronty.timing.words.tokens import Cursor
from cronty.timing.words.vocabulary import NUMBERS, UNITS

_RANKS: Final = ("year", "month", "fortnight", "week", "day", "hour", "minute", "second")
_LARGEST: Final = 1_000_000_000
_MOST_DAYS: Final = 10_000_000
_SIZES: Final = {"hour": 3600, "minute": 60, "second": 1}
_DAYS: Final = {"fortnight": 14, "week": 7, "day": 1}
_MONTHS: Final = {"year": 12, "month": 1}
_ISO_UNITS: Final = {
    False: {"y": "year", "m": "month", "w": "week", "d": "day"},
    True: {"h": "hour", "m": "minute", "s": "second"},
}


def amount(cursor: Cursor) -> Amount | None:
    """Take a length of time: units from large to small, each once."""
    token = cursor.peek()
    if token is not None and token.kind == "iso":
        cursor.at += 1
        return _iso(token.text)
    total: Amount | None = None
    rank = -1
    while True:
        start = cursor.at
        if total is not None:
            cursor.take_link()
        found = _quantity(cursor)
        if found is None or _RANKS.index(found[1]) <= rank:
            cursor.at = start
            return total
        rank = _RANKS.index(found[1])
        total = _plus(total or Amount(), *found)


def amount_of(count: int, unit: str) -> Amount:
    """Return so many of a unit."""
    return _plus(Amount(), count, unit)


def _quantity(cursor: Cursor) -> tuple[float, str] | None:
    """Take a number and its unit."""
    start = cursor.at
    if cursor.take("quarter", "of", "an", "hour") or cursor.take("a", "quarter", "of", "an", "hour"):
        return 15, "minute"
    if cursor.take("half"):
        cursor.take_any("a", "an")
        number: float | None = 0.5
    else:
        number = _number(cursor)
    if number is not None and cursor.take("and", "a", "half"):
        number += 0.5
    unit = UNITS.get(cursor.word()) if number is not None else None
    if number is None or unit is None:
        cursor.at = start
        return None
    cursor.at += 1
    if cursor.take("and", "a", "half"):
        number += 0.5
    return number, unit


def _number(cursor: Cursor) -> float | None:
    word = cursor.word()
    if word in NUMBERS or word in ("a", "an"):
        cursor.at += 1
        return NUMBERS.get(word, 1)
    start = cursor.at
    digits = cursor.digits()
    if not digits:
        return None
    whole = cursor.at
    if cursor.take_mark(".") and (fraction := cursor.digits(glued=True)):
        return _sized(f"{digits}.{fraction}")
    cursor.at = whole if whole > start else start
    return _sized(digits)


def _sized(text: str) -> float:
    number = float(text) if "." in text else int(text)
    if number >= _LARGEST:
        raise _too_large(text)
    return number


def _too_large(text: str) -> BadTrigger:
    return BadTrigger(f"Can't use the number {text[:20]}", "It is too large for a time.")


def _plus(total: Amount, number: float, unit: str) -> Amount:
    if unit in _SIZES:
        return Amount(total.months, total.days, total.rest + timedelta(seconds=number * _SIZES[unit]))
    if number > _MOST_DAYS:
        raise _too_large(f"{number:.15g}")
    if unit in _DAYS:
        days = number * _DAYS[unit]
        if days != int(days):
            return Amount(total.months, total.days, total.rest + timedelta(days=days))
        return Amount(total.months, total.days + int(days), total.rest)
    months = number * _MONTHS[unit]
    if months != int(months):
        raise BadTrigger(f"Can't tell how long {number:g} {unit}s are", "Months differ in length; say days, or a date.")
    return Amount(total.months + int(months), total.days, total.rest)


def _iso(text: str) -> Amount:
    """Read an ISO 8601 duration; the text begins with p."""
    total = Amount()
    timed = False
    number = ""
    for each in text[1:]:
        if each == "t" and not timed and not number:
            timed = True
        elif each.isdigit() or (each == "." and "." not in number and number):
            number += each
        elif each in _ISO_UNITS[timed] and number and number[-1] != ".":
            total = _plus(total, _sized(number), _ISO_UNITS[timed][each])
            number = ""
        else:
            number = each
            break
    if number or total == Amount():
        raise Unread(f'Can\'t read the duration "{text.upper()}"', 'Give it as in "PT1H30M" or "P1D".')
    return total
