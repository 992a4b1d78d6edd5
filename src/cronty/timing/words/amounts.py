"""Lengths of time: `2h30m`, `90 minutes`, `an hour and a half`, `PT1H30M`."""

import re
from datetime import timedelta
from typing import Final

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.engine import Node
from cronty.timing.words.said import Amount
from cronty.timing.words.vocabulary import NUMBERS, TENS, UNITS

_RANKS: Final = ("year", "quarter", "month", "fortnight", "week", "day", "hour", "minute", "second")
_LARGEST: Final = 1_000_000_000
_MAX_DAYS: Final = 10_000_000
_SIZES: Final = {"hour": 3600, "minute": 60, "second": 1}
_DAYS: Final = {"fortnight": 14, "week": 7, "day": 1}
_MONTHS: Final = {"year": 12, "quarter": 3, "month": 1}
_ISO_UNITS: Final = {
    False: {"y": "year", "m": "month", "w": "week", "d": "day"},
    True: {"h": "hour", "m": "minute", "s": "second"},
}
_SHORT: Final = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)")


def amount(node: Node) -> Amount:
    """The length of time that an `amount` names: units from large to small, each once."""
    total, rank = Amount(), -1
    for each in node.nodes("quantity"):
        for number, unit in _quantity(each):
            if _RANKS.index(unit) <= rank:
                raise Unread(
                    f"Can't read a length of time with {unit}s there",
                    'Name units from large to small, each once, as in "in 2 hours 30 minutes".',
                )
            rank = _RANKS.index(unit)
            total = _plus(total, number, unit)
        if (iso := each.token("ISO_DURATION")) is not None:
            total, rank = _add(total, _iso(iso.text)), len(_RANKS)
    return total


def amount_of(count: float, unit: str) -> Amount:
    """Return so many of a unit."""
    return _plus(Amount(), count, unit)


def number(node: Node) -> float:
    """The number that a `number` names."""
    return sized(node.tokens("SMALL", "YEAR", "FOUR", "LONG", "NUMBER_WORD")[0].text) + _ones(node)


def _ones(node: Node) -> int:
    """`five` in `twenty five`."""
    words = node.tokens("NUMBER_WORD")
    if len(words) < 2:
        return 0
    ten, one = words[0].text, NUMBERS[words[1].text]
    if ten not in TENS or one > 9:
        raise Unread(f'Can\'t read the number "{ten} {words[1].text}"', 'Write it in digits, as in "in 25 minutes".')
    return one


def sized(text: str) -> float:
    """A number in digits or as a word; not too large for any time."""
    if text in NUMBERS:
        return NUMBERS[text]
    found = float(text) if "." in text else int(text)
    if found >= _LARGEST:
        raise _too_large(text)
    return found


def _quantity(node: Node) -> list[tuple[float, str]]:
    if (short := node.token("DURATION", "HOUR_H")) is not None:
        return [(sized(count), UNITS[unit]) for count, unit in _SHORT.findall(short.text)]
    if (clock := node.token("HH_MM")) is not None:
        hours, _, minutes = clock.text.partition("h")
        return [(int(hours), "hour"), (int(minutes), "minute")]
    if node.token("ISO_DURATION") is not None:
        return []
    if (four := node.token("FOUR_HOURS")) is not None:
        return [(_hours(four.text), "hour")]
    unit = node.tokens("UNIT")[-1]
    if (said := node.node("number")) is not None:
        count = number(said)
    elif node.token("COUPLE") is not None:
        count = 2
    elif node.token("QUARTER") is not None and unit.text not in ("quarter", "quarters"):
        return [(15, "minute")]
    else:
        count = 0.5 if node.token("HALF") is not None else 1
    return [(count + (0.5 if node.node("and_half") is not None else 0), UNITS[unit.text])]


def _hours(text: str) -> int:
    """`1000 hours` after "in" or "every" are so many; `0900 hours` are a time of day, wherever they stand."""
    digits = text[:4]
    if digits.startswith("0"):
        raise Unread(
            f'Can\'t read "{text}" as a length of time',
            f'Say "at {digits[:2]}:{digits[2:]}" for the time of day, or "{int(digits)} hours".',
        )
    return int(digits)


def _too_large(text: str) -> BadTrigger:
    return BadTrigger(f"Can't use the number {text[:20]}", "It is too large for a time.")


def _add(one: Amount, other: Amount) -> Amount:
    return Amount(one.months + other.months, one.days + other.days, one.rest + other.rest)


def _plus(total: Amount, count: float, unit: str) -> Amount:
    if unit in _SIZES:
        return _add(total, Amount(rest=timedelta(seconds=count * _SIZES[unit])))
    if count > _MAX_DAYS:
        raise _too_large(f"{count:.15g}")
    if unit in _DAYS:
        days = count * _DAYS[unit]
        return _add(total, Amount(days=int(days)) if days == int(days) else Amount(rest=timedelta(days=days)))
    months = count * _MONTHS[unit]
    if months != int(months):
        raise BadTrigger(f"Can't tell how long {count:g} {unit}s are", "Months differ in length; say days, or a date.")
    return _add(total, Amount(months=int(months)))


def _iso(text: str) -> Amount:
    """Read an ISO 8601 duration; the text begins with p."""
    total = Amount()
    timed = False
    digits = ""
    for each in text[1:]:
        if each == "t" and not timed and not digits:
            timed = True
        elif each.isdigit() or (each == "." and "." not in digits and digits):
            digits += each
        elif each in _ISO_UNITS[timed] and digits and digits[-1] != ".":
            total = _plus(total, sized(digits), _ISO_UNITS[timed][each])
            digits = ""
        else:
            digits = each
            break
    if digits or total == Amount():
        raise Unread(f'Can\'t read the duration "{text.upper()}"', 'Give it as in "PT1H30M" or "P1D".')
    return total
