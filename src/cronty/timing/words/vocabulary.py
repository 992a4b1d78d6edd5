"""The words that the grammar knows."""

from collections.abc import Iterable
from typing import Final, Literal

type Part = Literal["", "morning", "afternoon", "evening", "night"]

WEEKDAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
ORDINAL_NAMES: Final = ("first", "second", "third", "fourth", "fifth")

WEEKDAYS: Final = {name.lower(): day for day, name in enumerate(WEEKDAY_NAMES)} | {
    "mon": 0,
    "tue": 1,
    "tues": 1,
    "wed": 2,
    "weds": 2,
    "thu": 3,
    "thur": 3,
    "thurs": 3,
    "fri": 4,
    "sat": 5,
    "sun": 6,
}
WEEKDAYS_PLURAL: Final = {f"{name.lower()}s": day for day, name in enumerate(WEEKDAY_NAMES)}
MONTHS: Final = (
    {name.lower(): month for month, name in enumerate(MONTH_NAMES, 1)}
    | {name[:3].lower(): month for month, name in enumerate(MONTH_NAMES, 1)}
    | {"sept": 9}
)
_ONES_RANKED: Final = (*ORDINAL_NAMES, "sixth", "seventh", "eighth", "ninth")
_RANKED: Final = (
    *(*_ONES_RANKED, "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    *("seventeenth", "eighteenth", "nineteenth", "twentieth", *(f"twenty-{each}" for each in _ONES_RANKED)),
    *("thirtieth", "thirty-first"),
)
ORDINALS: Final = {name: nth for nth, name in enumerate(_RANKED, 1)}
_ONES: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS: Final = (
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
TENS: Final = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
NUMBERS: Final = (
    {name: number for number, name in enumerate((*_ONES, *_TEENS), 1)}
    | TENS
    | {f"{ten}-{one}": many + few for ten, many in TENS.items() for few, one in enumerate(_ONES, 1)}
)
UNITS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hour"),
    **dict.fromkeys(("d", "day", "days"), "day"),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), "week"),
    **dict.fromkeys(("fortnight", "fortnights"), "fortnight"),
    **dict.fromkeys(("month", "months", "mo", "mos"), "month"),
    **dict.fromkeys(("quarter", "quarters"), "quarter"),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), "year"),
}
PARTS: Final[dict[str, Part]] = {
    **dict.fromkeys(("morning", "mornings"), "morning"),
    **dict.fromkeys(("afternoon", "afternoons"), "afternoon"),
    **dict.fromkeys(("evening", "evenings"), "evening"),
    **dict.fromkeys(("night", "nights"), "night"),
}
ADVERBS: Final = {
    "hourly": (1, "hour"),
    "daily": (1, "day"),
    "everyday": (1, "day"),
    "nightly": (1, "day"),
    "weekly": (1, "week"),
    "biweekly": (2, "week"),
    "fortnightly": (2, "week"),
    "monthly": (1, "month"),
    "quarterly": (1, "quarter"),
    "yearly": (1, "year"),
    "annually": (1, "year"),
}


def _names_of(unit: str) -> list[str]:
    return [name for name, meant in UNITS.items() if meant == unit]


# The terminals of the grammar whose words have a value.
WORDS: Final[dict[str, Iterable[str]]] = {
    "WEEKDAY": (*WEEKDAYS, *WEEKDAYS_PLURAL),
    "MONTH": MONTHS,
    "NUMBER_WORD": NUMBERS,
    "ORDINAL_WORD": ORDINALS,
    "ADVERB": ADVERBS,
    "PART": PARTS,
    "UNIT": UNITS,
    "MINUTES": _names_of("minute"),
    "HOURS": _names_of("hour"),
    "DAY": _names_of("day"),
    "WEEK": _names_of("week"),
    "MONTHS": _names_of("month"),
    "YEARS": _names_of("year"),
}


def ordinal(day: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th` …"""
    return f"{day}{'th' if 10 <= day % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def listed(words: list[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
