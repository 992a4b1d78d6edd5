"""Dates of the calendar, as people write them."""

from datetime import date

from cronty.timing.errors import BadTrigger
from cronty.timing.words.said import CalendarDate, Said
from cronty.timing.words.tokens import Cursor
from cronty.timing.words.vocabulary import MONTH_NAMES, MONTHS, SUFFIXES


def date_clause(cursor: Cursor, said: Said) -> bool:
    """Take `on 3 May`; any form of `calendar_date`."""
    start = cursor.at
    cursor.take("on")
    found = calendar_date(cursor)
    if found is None:
        cursor.at = start
        return False
    said.put("the date", date=found)
    return True


def calendar_date(cursor: Cursor) -> CalendarDate | None:
    """Take `2027-01-31`, `3 May`, `May 3rd, 2027`, `the 3rd of May`, `03/04`, `31.1.2027`."""
    start = cursor.at
    cursor.take("the")
    here = cursor.at
    for form in (_iso_date, _slashed_date, _day_month, _month_day_date):
        found = form(cursor)
        if found is not None and not (cursor.word() in ("and", "to", "through") and cursor.word(1) in MONTHS):
            return found
        cursor.at = here
    cursor.at = start
    return None


def _iso_date(cursor: Cursor) -> CalendarDate | None:
    year = cursor.digits()
    mark = "-" if cursor.take_mark("-") else "/" if cursor.take_mark("/") else ""
    month = cursor.digits(glued=True) if mark else ""
    day = cursor.digits(glued=True) if month and cursor.take_mark(mark) else ""
    if len(year) != 4 or not day or len(month) > 2 or len(day) > 2:
        return None
    return _checked(((int(day), int(month)),), int(year))


def _slashed_date(cursor: Cursor) -> CalendarDate | None:
    first = cursor.digits()
    mark = next((each for each in "/.-" if cursor.take_mark(each)), "")
    second = cursor.digits(glued=True) if mark else ""
    if not first or not second or len(first) > 2 or len(second) > 2:
        return None
    year = cursor.digits(glued=True) if cursor.take_mark(mark) else ""
    if len(year) != 4 and (year or mark != "/"):
        return None
    one, two = int(first), int(second)
    if mark == ".":
        # Where dates have dots the day comes first.
        choices = ((one, two),)
    else:
        choices = tuple(pair for pair in dict.fromkeys(((one, two), (two, one))) if 1 <= pair[1] <= 12)
    return _checked(choices or ((one, two),), int(year) if year else None)


def _day_month(cursor: Cursor) -> CalendarDate | None:
    day = cursor.digits()
    if not day or len(day) > 2:
        return None
    cursor.take_any(*SUFFIXES)
    cursor.take("of")
    month = MONTHS.get(cursor.word())
    if month is None:
        return None
    cursor.at += 1
    return _checked(((int(day), month),), _year(cursor))


def _month_day_date(cursor: Cursor) -> CalendarDate | None:
    month = MONTHS.get(cursor.word())
    if month is None:
        return None
    cursor.at += 1
    cursor.take("the")
    day = cursor.digits()
    following = cursor.peek()
    if not day or len(day) > 2 or (following is not None and following.text in (":", "am", "pm", "oclock")):
        return None
    cursor.take_any(*SUFFIXES)
    return _checked(((int(day), month),), _year(cursor))


def _year(cursor: Cursor) -> int | None:
    start = cursor.at
    cursor.take(",")
    digits = cursor.digits()
    if len(digits) == 4:
        return int(digits)
    cursor.at = start
    return None


def _checked(choices: tuple[tuple[int, int], ...], year: int | None) -> CalendarDate:
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
