"""The words that the grammar knows."""

from typing import Final

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
ORDINALS: Final = {name: nth for nth, name in enumerate(ORDINAL_NAMES, 1)}
SUFFIXES: Final = ("st", "nd", "rd", "th")
NUMBERS: Final = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "ninety": 90,
}
UNITS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hour"),
    **dict.fromkeys(("d", "day", "days"), "day"),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), "week"),
    **dict.fromkeys(("fortnight", "fortnights"), "fortnight"),
    **dict.fromkeys(("month", "months"), "month"),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), "year"),
}
PARTS: Final = ("morning", "afternoon", "evening", "night")
_OTHERS: Final = (
    *("every", "each", "other", "hourly", "daily", "weekly", "monthly", "yearly", "annually"),
    *("today", "tonight", "tomorrow", "noon", "midday", "midnight", "weekday", "weekdays", "weekend", "weekends"),
    *("next", "this", "last", "between", "from", "until", "through", "past", "oclock", "time", "please", "remind"),
)
SUGGESTED: Final = (*WEEKDAYS, *WEEKDAYS_PLURAL, *MONTHS, *ORDINALS, *UNITS, *PARTS, *_OTHERS)
_KNOWN: Final = frozenset((*SUGGESTED, *NUMBERS)) | {"at", "on", "am", "pm", "in", "and", "or"}


def is_known(word: str) -> bool:
    """Whether the grammar has this word."""
    return word in _KNOWN


def ordinal(day: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th` …"""
    return f"{day}{'th' if 10 <= day % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def listed(words: list[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
