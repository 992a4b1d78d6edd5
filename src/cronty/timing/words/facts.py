"""Every fact that was said has a use in the reading, or the phrase is refused: nothing is dropped in silence."""

from typing import Final

from cronty.timing.errors import Unread
from cronty.timing.words.said import Said

_FACTS: Final = {
    "delay": "the delay",
    "every": "the period",
    "cycle": "the rhythm",
    "weeks": "the weeks",
    "counting_from": "the first week",
    "first_day": "the first day",
    "rhythm": "the rhythm",
    "relative": "the day",
    "business_ahead": "the business day",
    "date": "the date",
    "which": "the week",
    "weekdays": "the day of the week",
    "month_days": "the day of the month",
    "nths": "the day of the month",
    "business_days": "the business day",
    "months": "the month",
    "months_ahead": "the month",
    "month_of_year": "the month",
    "clocks": "the time",
    "windows": "the hours",
    "first_clock": "the first hour",
    "minutes": "the minute",
    "part": "the part of the day",
    "parts": "the part of the day",
    "by_clock": '"by the clock"',
    "second_pass": '"second pass"',
}
_DAYS: Final = (
    "rhythm",
    "date",
    "weekdays",
    "month_days",
    "business_days",
    "nths",
    "months",
    "weeks",
    "counting_from",
    "first_day",
)
_TIME: Final = ("clocks", "part")

# What each way of reading a sentence makes use of.
PERIOD: Final = ("every", "weeks")
RHYTHM: Final = ("every", "cycle", "windows", "first_clock", "minutes", "by_clock", "relative", "which", *_DAYS)
RHYTHM_AND_TIMES: Final = (*RHYTHM, "clocks")
DELAY: Final = ("delay", "clocks")
DELAY_TO_TIME: Final = ("delay", *_TIME)
DELAY_FROM_DAY: Final = ("delay", "relative", "date", "weekdays", "which", *_TIME)
TIMES: Final = ("every", *_DAYS, *_TIME)
ONE_DATE: Final = ("date", "relative", "weekdays", "which", *_TIME, "second_pass")
NEXT_MONTH: Final = ("months_ahead", "month_of_year", "month_days", "nths", "business_days", *_TIME, "second_pass")
ONE_DAY: Final = ("relative", "business_ahead", "weekdays", "which", *_TIME, "second_pass")
ONE_TIME: Final = _TIME


def check_used(said: Said, used: tuple[str, ...]) -> None:
    """Refuse a sentence with a fact that the chosen way of reading it has no use for."""
    for fact, name in _FACTS.items():
        value = getattr(said, fact)
        if fact not in used and (value is not None if fact in ("relative", "months_ahead") else value):
            raise Unread(f"Can't read \"{said.text}\": {name} doesn't go with the rest", "Leave it out.")
    if said.part and said.clocks and all(each.part for each in said.clocks):
        raise Unread(f'Can\'t read "{said.text}": it names the part of the day twice', "Name it once.")
