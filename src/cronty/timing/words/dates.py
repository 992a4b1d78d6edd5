"""Dates of the calendar, as people write them."""

import re
from datetime import date

from cronty.timing.errors import BadTrigger
from cronty.timing.words.engine import Node
from cronty.timing.words.said import CalendarDate
from cronty.timing.words.vocabulary import MONTH_NAMES, MONTHS, ORDINALS


def calendar_date(node: Node) -> CalendarDate:
    """The date that a `date` names: `2027-01-31`, `3 May`, `May 3rd, 2027`, `the 3rd of May`, `03/04`, `31.1.2027`."""
    if (written := node.token("DATE")) is not None:
        return _written(written.text)
    (month,) = node.tokens("MONTH")
    (day,) = node.tokens("SMALL", "ORDINAL", "ORDINAL_WORD")
    year = node.node("year")
    number = ORDINALS.get(day.text) or int(day.text.rstrip("stndrh")[:3])
    return checked(((number, MONTHS[month.text]),), None if year is None else int(year.tokens("YEAR")[0].text))


def _written(text: str) -> CalendarDate:
    mark = next(each for each in "-/." if each in text)
    numbers = re.split(r"[-/.]", text.rstrip("."))
    if len(numbers) > 2 and len(numbers[0]) < 3 and len(numbers[-1]) < 3:
        raise BadTrigger(f'Can\'t tell the year in "{text}"', 'Write it in full, as in "31 December 2027 at 9:00".')
    first, second, *more = map(int, numbers)
    if len(text.partition(mark)[0]) == 4:
        return checked(((more[0], second),), first)
    # Where dates have dots the day comes first.
    swapped = ((second, first),) if mark != "." else ()
    choices = tuple(pair for pair in dict.fromkeys(((first, second), *swapped)) if 1 <= pair[1] <= 12)
    return checked(choices or ((first, second),), more[0] if more else None)


def checked(choices: tuple[tuple[int, int], ...], year: int | None) -> CalendarDate:
    """Keep the choices that are dates; 29 February without a year is one."""
    found = tuple(pair for pair in choices if is_date(*pair, year or 2000))
    if not found:
        day, month = choices[0]
        if not 1 <= month <= 12:
            raise BadTrigger(f"There is no month {month}", 'Give the date as in "3 May 2027" or "2027-05-03".')
        shown = f"{day} {MONTH_NAMES[month - 1]}{f' {year}' if year else ''}"
        raise BadTrigger(f"There is no {shown}", 'Name a day that exists, or say "last day of the month".')
    return CalendarDate(found, year)


def is_date(day: int, month: int, year: int) -> bool:
    """Whether the calendar has this day."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
