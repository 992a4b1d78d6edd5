"""Days, as they are named: of the week, of the month, months, and those from which or until which something holds."""

from dataclasses import dataclass
from typing import Literal

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.amounts import number
from cronty.timing.words.dates import calendar_date
from cronty.timing.words.engine import Node, Token
from cronty.timing.words.said import LAST, Point
from cronty.timing.words.vocabulary import MONTHS, ORDINALS, WEEKDAY_NAMES, WEEKDAYS, WEEKDAYS_PLURAL, ordinal

_ALL_WEEKDAYS = WEEKDAYS | WEEKDAYS_PLURAL
_RANKS = 'Say "first" to "fourth", or "last".'


def week_list(node: Node) -> tuple[tuple[int, ...], bool, tuple[int, ...]]:
    """The days of a `weekday_list`; whether they are plainly weekly; and the days that have an "every" of their own."""
    days: list[int] = []
    own: list[int] = []
    weekly = every = linked = False
    for part in node.parts:
        if isinstance(part, Token):
            every = every or "EVERY" in part.kinds
            linked = linked or "LINK" in part.kinds
            continue
        found, again = _weekday(part)
        if not linked and not set(days).isdisjoint(found):  # "every other weekend Saturday"
            raise Unread("Can't tell which days are meant: one is named twice", "Name each once.")
        linked = False
        (own if every else days).extend(found)
        weekly = weekly or again
    return tuple(sorted(set(days))), weekly, tuple(sorted(set(own)))


def _weekday(node: Node) -> tuple[list[int], bool]:
    if node.token("WORKDAYS", "BUSINESS"):
        return list(range(5)), True
    if node.token("WEEKENDS"):
        return [5, 6], True
    names = [each.text for each in node.tokens("WEEKDAY")]
    first, final = _ALL_WEEKDAYS[names[0]], _ALL_WEEKDAYS[names[-1]]
    days = [(first + step) % 7 for step in range((final - first) % 7 + 1)]
    return days, len(names) > 1 or names[0] in WEEKDAYS_PLURAL


def months_of(node: Node) -> tuple[int, ...]:
    """The months of a `month_list`."""
    found: set[int] = set()
    for each in node.nodes("month_range"):
        names = [MONTHS[name.text] for name in each.tokens("MONTH")]
        found.update((names[0] + step - 1) % 12 + 1 for step in range((names[-1] - names[0]) % 12 + 1))
    return tuple(sorted(found))


def nth_of(node: Node, text: str) -> int:
    """The rank that an `ordinal` names; -1 is the last, -2 the one before."""
    words = node.tokens("ORDINAL_WORD", "LAST", "ORDINAL")
    del text
    if "LAST" in words[0].kinds:
        return LAST - 1 if words[0].text == "penultimate" else LAST
    rank = ORDINALS.get(words[0].text) or int(words[0].text[:-2][:3])
    return -rank if len(words) > 1 else rank


@dataclass(frozen=True, slots=True)
class MonthDays:
    """Days of the month, from either end; ranks of days of the week; ranks of business days."""

    days: tuple[int, ...]
    nths: tuple[tuple[int, int], ...]
    business_days: tuple[int, ...]
    doubtful: bool = False
    """Whether some business days may be days of the month, as in `the 15th and last business day`."""


def days_of_months(node: Node, text: str, *, again: bool) -> MonthDays:
    """The days that a `month_days` names; `again` if it is said to be of every month."""
    days: list[int] = []
    nths: dict[tuple[int, int], None] = {}
    business: list[int] = []
    doubtful = False
    for each in node.nodes("nth"):
        if (weekday := each.token("WEEKDAY")) is not None:
            day, ranks = _ALL_WEEKDAYS[weekday.text], _ranks(each, text)
            if max(ranks) > 5 and len(ranks) > 1:
                # "The 15th and first Monday" has a date and a rank; "the first and third Monday" two ranks.
                days, ranks = [*days, *ranks[:-1]], ranks[-1:]
            for nth in ranks:
                _check_rank(nth, day, again=again)
                nths[nth, day] = None
        elif each.token("WORKDAYS", "BUSINESS"):
            business.extend(_ranks(each, text))
            doubtful = doubtful or _mixes_ranks(each, text)
        else:
            days.extend(_numbers(each, text))
    return MonthDays(tuple(dict.fromkeys(days)), tuple(nths), tuple(dict.fromkeys(business)), doubtful)


def _mixes_ranks(node: Node, text: str) -> bool:
    """Whether numbers stand before a day from the end: `15th and last`, unlike `first and last` or `1st and 15th`."""
    *others, final = _ordinals(node)
    return nth_of(final, text) < 0 and any(each.token("ORDINAL") and nth_of(each, text) > 0 for each in others)


def _ranks(node: Node, text: str) -> list[int]:
    return [nth_of(each, text) for each in _ordinals(node)]


def _ordinals(node: Node) -> list[Node]:
    found: list[Node] = []
    chain = node.node("ordinals")
    while chain is not None:
        found += chain.nodes("ordinal")
        chain = chain.node("ordinals")
    return found + node.nodes("ordinal")


def _check_rank(nth: int, day: int, *, again: bool) -> None:
    name = WEEKDAY_NAMES[day]
    if abs(nth) > 5 or nth < LAST - 4:
        raise BadTrigger(f"No month has a {ordinal(abs(nth))} {name}", _RANKS)
    if nth == LAST and not again:
        hint = f'Say "last {name} of the month", or "on {name}" for the next one.'
        raise BadTrigger(f'"last {name}" may be the one that has passed', hint)


def _numbers(node: Node, text: str) -> list[int]:
    bare = node.tokens("SMALL")
    if (count := node.node("number")) is not None:
        many = int(number(count))
        if not 1 <= many <= 28:
            which = "first" if node.token("FIRST") else "last"
            raise Unread(
                f"Can't read the {which} {many} days of a month", f'Say it as in "{which} 2 days of the month at 9:00".'
            )
        return list(range(1, many + 1)) if node.token("FIRST") else list(range(-1, -many - 1, -1))
    ends = [int(each.text) for each in bare] or _ranks(node, text)
    for day in ends:
        if not (1 <= day <= 31 or -31 <= day <= -1):
            raise BadTrigger(f"No month has a day {abs(day)}", 'Say "1st" to "31st", or "last day of the month".')
    first, final = ends[0], ends[-1]
    if node.node("to") is None:
        return ends
    if final == LAST and first > 0:
        final = 31
    if not 0 < first <= final:
        raise Unread(f'Can\'t read the days in "{text}"', 'Say it as in "on the 1st through 7th of the month at 9:00".')
    return list(range(first, final + 1))


def edge_of(node: Node) -> tuple[int, tuple[int, ...]]:
    """The day and the months of `the end of the quarter`."""
    end = node.token("END") is not None
    if (month := node.token("MONTH")) is not None:
        return (LAST if end else 1), (MONTHS[month.text],)
    if node.token("QUARTER"):
        return (LAST, (3, 6, 9, 12)) if end else (1, (1, 4, 7, 10))
    if node.token("YEARS"):
        return (LAST, (12,)) if end else (1, (1,))
    return (LAST if end else 1), ()


def point_of(node: Node, text: str) -> Point:
    """The day that a `point` names."""
    day, date, weekday = node.node("relative"), node.node("date"), node.token("WEEKDAY")
    this = node.token("THIS", "NEXT")
    if date is not None:
        return Point(date=calendar_date(date))
    if day is not None:
        return Point(relative=2 if day.token("AFTER") else 1 if day.token("TOMORROW") else 0)
    if weekday is not None:
        return Point(
            weekday=_ALL_WEEKDAYS[weekday.text],
            which="" if this is None else "next" if "NEXT" in this.kinds else "this",
        )
    edge: Literal["end of", "start of"] = "end of" if node.token("END") else "start of"
    month, year = node.token("MONTH"), node.token("YEAR")
    which = "next" if this is not None and "NEXT" in this.kinds else ""
    if month is not None:
        return Point(edge=edge, month=MONTHS[month.text], year=None if year is None else int(year.text))
    if year is not None:
        return Point(edge=edge, unit="year", year=int(year.text))
    del text
    unit: Literal["week", "month", "year"] = (
        "week" if node.token("WEEK") else "month" if node.token("MONTHS") else "year"
    )
    return Point(edge=edge, unit=unit, which=which)


def ranked_of(node: Node, text: str) -> Point:
    """The day that `the 1st of next month` or `the first Monday in May` names, as a bound."""
    nth, weekday, month, year = (
        nth_of(node.nodes("ordinal")[0], text),
        *(node.token(kind) for kind in ("WEEKDAY", "MONTH", "YEAR")),
    )
    days = tuple(range(5 if node.token("WORKDAYS", "BUSINESS") else 7))
    if weekday is not None:
        days = (_ALL_WEEKDAYS[weekday.text],)
    this = node.token("THIS", "NEXT")
    return Point(
        ranked=(nth, days),
        which="" if this is None else "next" if "NEXT" in this.kinds else "this",
        month=0 if month is None else MONTHS[month.text],
        year=None if year is None else int(year.text),
    )
