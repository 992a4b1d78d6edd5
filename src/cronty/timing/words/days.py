"""Days: today, names of days, days of the month, months; one clause each."""

from typing import cast

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.said import LAST, LAST_WEEKDAY, Part, Said
from cronty.timing.words.tokens import Cursor
from cronty.timing.words.vocabulary import (
    MONTHS,
    NUMBERS,
    ORDINALS,
    PARTS,
    SUFFIXES,
    UNITS,
    WEEKDAY_NAMES,
    WEEKDAYS,
    WEEKDAYS_PLURAL,
)
from cronty.timing.words.vocabulary import ordinal as ordinal_text

_RANGE = ("to", "through", "-", "until", "till")


def relative_day(cursor: Cursor, said: Said) -> bool:
    """Take `today`, `tonight`, `tomorrow morning`, `the day after tomorrow`, `this evening`."""
    start = cursor.at
    cursor.take("the")
    if cursor.take("day", "after", "tomorrow"):
        days = 2
    elif cursor.take("tonight"):
        said.put("the day", relative=None, part="night")
        days = 0
    elif cursor.word() == "this" and cursor.word(1) in PARTS:
        cursor.at += 1
        days = 0
    else:
        word = cursor.take_any("today", "tomorrow")
        days = 0 if word == "today" else 1
        if not word:
            cursor.at = start
            return False
    if said.relative is not None:
        raise Unread(f'Can\'t read "{said.text}": it names the day twice', "Name it once.")
    said.relative = days
    part_of_day(cursor, said)
    return True


def part_of_day(cursor: Cursor, said: Said) -> bool:
    """Take `morning`, `in the evening`, `at night`, after a day."""
    start = cursor.at
    if not cursor.take("in", "the"):
        cursor.take("at")
    word = cursor.take_any(*PARTS)
    if not word:
        cursor.at = start
        return False
    said.put("the part of the day", part=cast("Part", word))
    return True


def weekday_clause(cursor: Cursor, said: Said) -> bool:
    """Take `Friday`, `next Friday`, `Mondays and Thursdays`, `weekdays`, `Monday to Friday`, `Friday next week`."""
    start = cursor.at
    cursor.take_any("on", "from")
    if cursor.word(1) in ("weekend", "weekends"):
        cursor.take("the")
    which = _which(cursor)
    cursor.take("on")
    days, again, each_day = weekday_list(cursor)
    if not days or (which and (again or len(days) > 1)):
        cursor.at = start
        return False
    if len(days) > 1 and not again:
        again = said.again or bool(said.rhythm)
    said.put("the day of the week", weekdays=days, which=which or _which(cursor, after=True), each_day=each_day)
    said.again = said.again or again
    part_of_day(cursor, said)
    return True


def _which(cursor: Cursor, *, after: bool = False) -> str:
    for word in ("next", "this"):
        if cursor.take(word, "week"):
            return f"{word} week"
        if not after and cursor.word() == word and cursor.word(1) in WEEKDAYS:
            cursor.at += 1
            return word
    if cursor.word(1) in ("coming", "upcoming"):
        cursor.take("this")
    if not after and cursor.word() in ("coming", "upcoming") and cursor.word(1) in WEEKDAYS:
        cursor.at += 1
        return "this"
    return ""


def weekday_list(cursor: Cursor) -> tuple[tuple[int, ...], bool, bool]:
    """Take names of days; then: whether they are plainly meant week after week, and whether each has its "every"."""
    if cursor.take_any("weekdays", "weekday", "workdays", "workday") or _two_words(cursor):
        return tuple(range(5)), True, False
    if cursor.take_any("weekends", "weekend"):
        return (5, 6), True, False
    days: list[int] = []
    again = each_day = every = False
    end = cursor.at
    while (day := _weekday(cursor)) is not None:
        days.append(day)
        again = again or cursor.word(-1) in WEEKDAYS_PLURAL
        each_day = each_day or every
        end = cursor.at
        if cursor.take_any(*_RANGE):
            final = _weekday(cursor)
            if final is None:
                break
            days.extend((day + step) % 7 for step in range(1, (final - day) % 7 + 1))
            again = True
            end = cursor.at
        if not cursor.take_link():
            break
        cursor.take("on")
        every = bool(cursor.take_any("every", "each"))
    cursor.at = end
    return tuple(sorted(set(days))), again, each_day


def _two_words(cursor: Cursor) -> bool:
    pairs = (("working", "day"), ("working", "days"), ("business", "day"), ("business", "days"))
    return any(cursor.take(*pair) for pair in pairs)


def _weekday(cursor: Cursor) -> int | None:
    day = WEEKDAYS.get(cursor.word(), WEEKDAYS_PLURAL.get(cursor.word()))
    if day is not None:
        cursor.at += 1
    return day


def ordinal(cursor: Cursor) -> int | None:
    """Take `1st`, `first`, `last`."""
    if cursor.take("last"):
        return LAST
    if cursor.word() in ORDINALS:
        cursor.at += 1
        return ORDINALS[cursor.word(-1)]
    start = cursor.at
    digits = cursor.digits()
    following = cursor.peek()
    if digits and len(digits) <= 2 and following is not None and following.glued and cursor.take_any(*SUFFIXES):
        return int(digits)
    cursor.at = start
    return None


def month_day_clause(cursor: Cursor, said: Said) -> bool:
    """Take `the 1st and 15th of the month`, `last day of the month`, `first Monday of every May`."""
    start = cursor.at
    cursor.take("on")
    days: list[int] = []
    nths: list[tuple[int, int]] = []
    end = cursor.at
    while _month_day(cursor, days, nths, again=said.again):
        end = cursor.at
        if not cursor.take_link():
            break
        cursor.take("on")
    cursor.at = end
    if not days and not nths:
        cursor.at = start
        return False
    if days and nths:
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule',
            "Make two jobs: one for the dates, one for the days of the week.",
        )
    said.put("the day of the month", month_days=tuple(days), nths=tuple(dict.fromkeys(nths)))
    said.again = said.again or len(days) + len(nths) > 1
    _of_months(cursor, said)
    return True


def _month_day(cursor: Cursor, days: list[int], nths: list[tuple[int, int]], *, again: bool) -> bool:
    """Take one of the list: `1st`, `first Monday`, `last day`, `1st through 7th`, or `15` after "the"."""
    start = cursor.at
    the = cursor.take("the")
    if _shared_weekday(cursor, nths):
        return True
    nth = ordinal(cursor)
    if nth is None:
        return _bare_day(cursor, days, start=start, the=the)
    if (day := _weekday(cursor)) is not None:
        if nth != LAST and nth > 5:
            raise BadTrigger(
                f"No month has a {ordinal_text(nth)} {WEEKDAY_NAMES[day]}", 'Say "first" to "fourth", or "last".'
            )
        if nth == LAST and cursor.word() not in ("of", "in") and not again:
            hint = f'Say "last {WEEKDAY_NAMES[day]} of the month", or "on {WEEKDAY_NAMES[day]}" for the next one.'
            raise BadTrigger(f'"last {WEEKDAY_NAMES[day]}" may be the one that has passed', hint)
        nths.append((nth, day))
        return True
    if nth == LAST:
        if cursor.take("day"):
            days.append(LAST)
        elif cursor.take_any("weekday", "workday") or _two_words(cursor):
            days.append(LAST_WEEKDAY)
        else:
            cursor.at = start
            return False
        return True
    if cursor.word() in ("weekday", "workday") or _two_words(cursor):
        raise BadTrigger(
            f'Can\'t keep "{cursor.text}" in one schedule',
            'Only "last weekday of the month" is possible; say "first Monday of the month" or "on the 1st" instead.',
        )
    cursor.take("day")
    _add_days(cursor, days, nth)
    return True


def _shared_weekday(cursor: Cursor, nths: list[tuple[int, int]]) -> bool:
    """Take `first and third Monday`, where the name of the day is said once."""
    start = cursor.at
    found: list[int] = []
    while (nth := ordinal(cursor)) is not None:
        found.append(nth)
        if not cursor.take_link():
            break
    day = _weekday(cursor) if len(found) > 1 and max(found) <= 5 else None
    if day is None:
        cursor.at = start
        return False
    nths.extend((nth, day) for nth in found)
    return True


def _bare_day(cursor: Cursor, days: list[int], *, start: int, the: bool) -> bool:
    digits = cursor.digits() if the else ""
    following = cursor.peek()
    word = cursor.word()
    other = word in UNITS or word in MONTHS or word in NUMBERS or word in ("am", "pm", "oclock")
    if not digits or other or (following is not None and following.text in ":./-"):
        cursor.at = start
        return False
    _add_days(cursor, days, int(digits[:3]))
    return True


def _add_days(cursor: Cursor, days: list[int], first: int) -> None:
    final = first
    start = cursor.at
    if cursor.take_any(*_RANGE):
        cursor.take("the")
        found = ordinal(cursor)
        if found is None or found < first:
            cursor.at = start
        else:
            final = found
    for day in (first, final):
        if not 1 <= day <= 31:
            raise BadTrigger(f"No month has a day {day}", 'Say "1st" to "31st", or "last day of the month".')
    days.extend(range(first, final + 1))


def _of_months(cursor: Cursor, said: Said) -> None:
    """Take `of the month`, `of every month`, `of every January and July`, `of May`."""
    start = cursor.at
    if not cursor.take_any("of", "in"):
        return
    again = bool(cursor.take_any("every", "each"))
    if cursor.take("the", "month") or (again and cursor.take("month")):
        said.again = True
        return
    months = month_list(cursor)
    if not months:
        cursor.at = start
        return
    said.put("the month", months=months, months_of_day=True)
    said.again = said.again or again or len(months) > 1


def months_clause(cursor: Cursor, said: Said) -> bool:
    """Take `in March`, `in June and July`, `from June through August`."""
    start = cursor.at
    if cursor.take_any("in", "of", "from", "during", "only"):
        cursor.take("in")
        again = bool(cursor.take_any("every", "each"))
        if months := month_list(cursor):
            said.put("the month", months=months)
            said.again = said.again or again
            return True
        cursor.at = start
    if cursor.take("of", "the", "month") or cursor.take("a", "month"):
        said.again = True
        return True
    return False


def month_list(cursor: Cursor) -> tuple[int, ...]:
    """Take names of months."""
    months: list[int] = []
    end = cursor.at
    while cursor.word() in MONTHS:
        month = MONTHS[cursor.word()]
        cursor.at += 1
        months.append(month)
        end = cursor.at
        if cursor.take_any(*_RANGE):
            final = MONTHS.get(cursor.word())
            if final is None:
                break
            cursor.at += 1
            months.extend((month + step - 1) % 12 + 1 for step in range(1, (final - month) % 12 + 1))
            end = cursor.at
        if not cursor.take_link():
            break
    cursor.at = end
    return tuple(sorted(set(months)))
