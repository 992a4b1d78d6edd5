"""The sentence: clauses in any order, each said at most once.

A recursive-descent parser without surprises: at every place the clauses are tried in a fixed order, each one
takes what it knows or nothing. Nothing here asks what time it is.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.near import near
from cronty.timing.words.amounts import amount, amount_of
from cronty.timing.words.clocks import clock_list, window
from cronty.timing.words.dates import calendar_date, date_clause
from cronty.timing.words.days import (
    month_day_clause,
    month_list,
    months_clause,
    ordinal,
    part_of_day,
    relative_day,
    weekday_clause,
)
from cronty.timing.words.places import zones_of
from cronty.timing.words.said import LAST, Amount, Said
from cronty.timing.words.tokens import EXAMPLES, Cursor, show, tokenise
from cronty.timing.words.vocabulary import PARTS, SUGGESTED, UNITS, WEEKDAYS

_ADVERBS: Final = {
    "hourly": (1, "hour"),
    "daily": (1, "day"),
    "nightly": (1, "day"),
    "weekly": (1, "week"),
    "biweekly": (2, "week"),
    "fortnightly": (2, "week"),
    "monthly": (1, "month"),
    "quarterly": (3, "month"),
    "yearly": (1, "year"),
    "annually": (1, "year"),
}
_RHYTHMS: Final = {
    Amount(days=1): "day",
    Amount(days=7): "week",
    Amount(months=1): "month",
    Amount(months=12): "year",
}
_HOLIDAYS: Final = 'Holidays aren\'t known here; give the date, as in "on 25 December at 9:00".'
_UNCLEAR: Final = {
    "bimonthly": 'It may be twice a month or every two months: say "on the 1st and 15th of every month at 9:00".',
    "now": 'A schedule is for later: say "in 1 minute", or run it now.',
    "every": 'One schedule at a time: make a job for each "every".',
    "next": 'Say which day, as in "next Monday at 9:00" or "on 3 May at 9:00".',
    "this": 'Say which day, as in "this Friday at 9:00" or "on 3 May at 9:00".',
    "soon": 'Say when, as in "in 10 minutes".',
    "later": 'Say when, as in "in 10 minutes".',
    "twice": 'Say when, as in "every day at 9:00 and 17:00".',
    "times": 'Say when, as in "every day at 9:00 and 17:00".',
    "once": 'Say when, as in "every day at 9:00" or "tomorrow at 9:00".',
    "except": "Leaving days out isn't possible; name the days that are meant.",
    "starting": (
        'A start can\'t be said in words; say "every day at 9:00" and give the start by itself. '
        'For which weeks, say "every 2 weeks on Monday at 9:00, counting from 5 January 2026".'
    ),
    "to": 'Give only the time, as in "tomorrow at 9:00"; what is to be done is said elsewhere.',
    "until": 'An end can\'t be said in words; say "every day at 9:00" and give the end by itself.',
    "but": "Leaving days out isn't possible; name the days that are meant.",
    "end": 'Say "last day of the month at 17:00", or a time of day.',
    "quarter": 'Name the months, as in "on the 1st of every January, April, July and October at 9:00".',
    **dict.fromkeys(("holidays", "holiday", "christmas", "easter"), _HOLIDAYS),
}


def parse(text: str) -> Said:
    """Read all of a text, or say which word was in the way."""
    cursor = Cursor(tokenise(text), text)
    said = Said(text)
    while not cursor.done:
        if cursor.take_any(","):
            continue
        if cursor.take_any("or"):
            if cursor.word() in WEEKDAYS and said.weekdays:
                raise Unread(f'Can\'t read "or" in "{show(text)}"', 'Say "and" between times or days.')
            said.put("the day", either=True)
            continue
        if not any(clause(cursor, said) for clause in _CLAUSES):
            raise _unreadable(cursor)
    return said


def _unreadable(cursor: Cursor) -> BadTrigger:
    token = cursor.peek()
    word = "" if token is None else token.text
    following = cursor.peek(1)
    if word in ("at", "on", "the", "and", "in", "by", "from", "of") and following is not None:
        token, following = following, cursor.peek(2)
        word = token.text
    text = show(cursor.text)
    message = f'Can\'t read "{text}"' if word == text.lower() else f'Can\'t read "{word}" in "{text}"'
    if word in _UNCLEAR:
        return Unread(message, _UNCLEAR[word])
    if token is not None and token.kind == "number" and len(token.text) > 2:
        return Unread(message, 'Give a time as in "17:30", a date as in "2027-01-31", a number with its unit.')
    if (cursor.at > 0 and zones_of(word)) or (following is not None and following.text == "/"):
        return Unread(message, 'If it is a time zone, name it at the end, as in "tomorrow at 9:00 Berlin time".')
    meant = near(word, SUGGESTED) if len(word) > 2 else []
    return Unread(message, f'Did you mean "{meant[0]}"? {EXAMPLES}' if meant and meant != [word] else EXAMPLES)


def _every(cursor: Cursor, said: Said) -> bool:
    """Take `every …` and adverbs such as `daily`."""
    start = cursor.at
    if cursor.word(1) in ("every", "each"):
        cursor.take("on")
    if not cursor.take_any("every", "each"):
        cursor.at = start
        return _adverb(cursor, said)
    if _every_nth(cursor, said) or _every_unit(cursor, said):
        return True
    said.again = True
    if cursor.word() in PARTS:
        said.put("the rhythm", rhythm="day")
        return part_of_day(cursor, said)
    if date_clause(cursor, said) or month_day_clause(cursor, said) or weekday_clause(cursor, said):
        return True
    if months := month_list(cursor):
        said.put("the month", months=months)
        return True
    token = cursor.peek()
    if token is None or token.kind == "number":
        hint = 'Say the unit, as in "every 5 minutes", or the day, as in "every Monday at 9:00".'
        raise Unread(f'Can\'t read "{show(cursor.text)}": every what?', hint)
    raise _unreadable(cursor)


def _every_nth(cursor: Cursor, said: Said) -> bool:
    """Take `every other day`, `every second week`, `every 3rd hour`, which are a number and a unit."""
    start = cursor.at
    if cursor.word() == "second" and cursor.word(1) not in (*UNITS, *WEEKDAYS, "of"):
        return False
    other = cursor.take("other")
    nth = 2 if other else ordinal(cursor)
    unit, following = cursor.word(), cursor.word(1)
    if nth is None or nth == LAST or nth == 1 or following == "of":
        cursor.at = start
        said.again = said.again or unit in WEEKDAYS
        return unit in WEEKDAYS and month_day_clause(cursor, said)
    if unit in WEEKDAYS or (other and unit == "weekend"):
        said.put("the rhythm", weeks=nth, doubt="" if other or nth > 5 else "nth")
        said.again = True
        return weekday_clause(cursor, said)
    if unit not in UNITS or cursor.word(-1) == unit:
        cursor.at = start
        return False
    cursor.at += 1
    _put_period(said, amount_of(nth, UNITS[unit]))
    return True


def _put_each(said: Said, count: int, unit: str) -> None:
    """`every day` is a rhythm of the calendar, `every hour` a length of time."""
    if count == 1 and unit in _RHYTHMS.values():
        said.put("the rhythm", rhythm=unit)
        said.again = True
    else:
        _put_period(said, amount_of(count, unit))


def _put_period(said: Said, period: Amount) -> None:
    """Whole weeks are kept apart: with a day of the week they are something else than elapsed time."""
    weeks = period.days // 7
    if weeks > 1 and period == Amount(days=7 * weeks):
        said.put("the rhythm", weeks=weeks)
        said.again = True
    else:
        said.put("the rhythm", every=period)


def _every_unit(cursor: Cursor, said: Said) -> bool:
    """Take `every 15 minutes`, `every hour`, `every 2h30m`, `every day`, `every month`."""
    unit = UNITS.get(cursor.word(), "")
    if unit and len(cursor.word()) > 2:
        cursor.at += 1
        _put_each(said, 1, unit)
        return True
    found = amount(cursor)
    if found is None:
        return False
    rhythm = _RHYTHMS.get(found, "")
    following = cursor.peek()
    if rhythm and (cursor.word(-1) == rhythm or (following is not None and following.text != "(")):
        said.put("the rhythm", rhythm=rhythm)
        said.again = True
        return True
    _put_period(said, found)
    _same_amount(cursor, found)
    return True


def _same_amount(cursor: Cursor, said_before: Amount) -> None:
    """Take `(48 hours)` after `2 days`: the way it is said back."""
    start = cursor.at
    if not cursor.take("("):
        return
    again = amount(cursor)
    if again is None or again.elapsed != said_before.elapsed or not cursor.take(")"):
        cursor.at = start


def _adverb(cursor: Cursor, said: Said) -> bool:
    word = cursor.word()
    if word not in _ADVERBS:
        return False
    cursor.at += 1
    _put_each(said, *_ADVERBS[word])
    if word == "biweekly":
        said.doubt = "twice"
    if word == "nightly":
        said.put("the part of the day", part="night")
    return True


def _minute_of_hour(cursor: Cursor, said: Said) -> bool:
    """Take `on the hour`, `at minute 15`, `at minutes 5 and 35`, `at :15`, `10 minutes past the hour`."""
    start = cursor.at
    if cursor.take("on", "the", "hour"):
        said.put("the minute", minutes=(0,))
        return True
    cursor.take("at")
    found: list[int] = []
    if cursor.take_any("minute", "minutes"):
        found = _minute_list(cursor)
    elif cursor.take(":"):
        found = [int(digits[:4]) for digits in [cursor.digits(glued=True)] if digits]
    else:
        found = _past_the_hour(cursor)
    if not found:
        cursor.at = start
        return False
    if max(found) > 59:
        raise BadTrigger(
            f"There is no minute {max(found)}", 'Minutes run from 0 to 59, as in "every hour at minute 15".'
        )
    said.put("the minute", minutes=tuple(sorted(set(found))))
    _of_every_hour(cursor, said)
    return True


def _minute_list(cursor: Cursor) -> list[int]:
    """Take `15`, `5 and 35`, `0 through 29`."""
    found: list[int] = []
    while digits := cursor.digits():
        found.append(int(digits[:4]))
        if cursor.take_any("through", "to", "-"):
            final = int(cursor.digits()[:4] or 0)
            if final <= found[-1]:
                hint = 'Say it as in "every hour at minutes 0 through 29".'
                raise Unread(f'Can\'t read the minutes in "{show(cursor.text)}"', hint)
            found.extend(range(found[-1] + 1, final + 1))
        end = cursor.at
        cursor.take_link()
        following = cursor.peek()
        if following is None or following.kind != "number":
            cursor.at = end
            break
    return found


def _past_the_hour(cursor: Cursor) -> list[int]:
    digits = cursor.digits()
    named = {"half": "30", "quarter": "15"}.get(cursor.word(), "")
    if not digits and named:
        cursor.at += 1
    cursor.take_any("minute", "minutes")
    past = cursor.take("past", "the", "hour") or (cursor.word() == "past" and cursor.word(1) in ("every", "each"))
    return [int((digits or named)[:4])] if past and (digits or named) else []


def _of_every_hour(cursor: Cursor, said: Said) -> None:
    """Take `past every hour`, `of every hour`."""
    start = cursor.at
    if cursor.take_any("past", "of") and cursor.take_any("every", "each") and cursor.take("hour"):
        said.put("the rhythm", every=Amount(rest=timedelta(hours=1)))
    else:
        cursor.at = start


def _delay(cursor: Cursor, said: Said) -> bool:
    """Take `in 2h30m`, `90 minutes from now`, `PT1H`."""
    start = cursor.at
    lead = cursor.take_any("in", "after")
    found = amount(cursor)
    if found is None:
        token = cursor.peek()
        if lead and token is not None and token.kind == "number":
            raise Unread(
                f'Can\'t read "{show(cursor.text)}": {token.text} what?', 'Say the unit, as in "in 5 minutes".'
            )
        cursor.at = start
        return False
    if not lead and cursor.word() in ("past", "to", "before"):
        cursor.at = start
        return False
    cursor.take("from", "now")
    said.put("the delay", delay=found)
    return True


def _window(cursor: Cursor, said: Said) -> bool:
    found = window(cursor, often=said.every is not None or said.rhythm != "")
    if found is not None:
        said.put("the hours", window=found)
    return found is not None


def _clocks(cursor: Cursor, said: Said) -> bool:
    found = clock_list(cursor)
    if found:
        said.put("the time", clocks=found)
    return bool(found)


def _counting_from(cursor: Cursor, said: Said) -> bool:
    """Take `counting from 5 January 2026`, which says which weeks are meant by `every 2 weeks`."""
    if not cursor.take("counting", "from"):
        return False
    found = calendar_date(cursor)
    if found is None or found.year is None or len(found.choices) > 1:
        raise Unread(
            f'Can\'t read the date after "counting from" in "{show(cursor.text)}"',
            'Give it with its year, as in "every 2 weeks on Monday at 9:00, counting from 5 January 2026".',
        )
    said.put("the first week", counting_from=found)
    return True


def _remark(cursor: Cursor, said: Said) -> bool:
    if cursor.take("by", "the", "clock"):
        said.by_clock = True
    elif cursor.take("(", "second", "pass", ")"):
        said.second_pass = True
    else:
        return False
    return True


_CLAUSES: Final[tuple[Callable[[Cursor, Said], bool], ...]] = (
    _every,
    _counting_from,
    _remark,
    _minute_of_hour,
    _window,
    _delay,
    relative_day,
    date_clause,
    month_day_clause,
    weekday_clause,
    months_clause,
    _clocks,
    part_of_day,
)
