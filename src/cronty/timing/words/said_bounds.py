"""What the items that name a start, an end, or what is left out add to what was said."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from cronty.timing.words.amounts import amount, amount_of, number
from cronty.timing.words.clocks import is_year
from cronty.timing.words.dates import calendar_date
from cronty.timing.words.days import days_of_months, months_of, point_of, ranked_of, week_list
from cronty.timing.words.engine import Node
from cronty.timing.words.said import Point
from cronty.timing.words.sentence import Sentence
from cronty.timing.words.vocabulary import UNITS


def _starting(sentence: Sentence, item: Node) -> None:
    ranked = item.node("ranked")
    starts = ranked_of(ranked, sentence.text) if ranked else point_of(item.nodes("point")[0], sentence.text)
    put_bound(sentence, "its start", starts=starts)


def _starting_in(sentence: Sentence, item: Node) -> None:
    """`starting in two weeks`."""
    after = amount(item.nodes("amount")[0])
    if after.rest:
        raise sentence.refuse("from which day on?", 'Say it as in "every day at 9:00 starting in 2 weeks".')
    put_bound(sentence, "its start", starts=Point(after=after))


def _from_to(sentence: Sentence, item: Node) -> None:
    first, final = (point_of(Node("point", (each,)), sentence.text) for each in item.nodes("date"))
    put_bound(sentence, "its start", starts=first, ends=final)


def _only_on(sentence: Sentence, item: Node) -> None:
    """`every hour on 3 May 2027 only`."""
    day = point_of(Node("point", tuple(item.nodes("date"))), sentence.text)
    put_bound(sentence, "its start", starts=day, ends=day)


def _until(sentence: Sentence, item: Node) -> None:
    point, ranked, year = item.node("point"), item.node("ranked"), item.token("YEAR")
    if year is not None:
        ends = _year(sentence, item)
    else:
        ends = ranked_of(ranked, sentence.text) if ranked else point_of(point or item, sentence.text)
    if (ends.month or ends.year) and item.token("THROUGH"):
        ends = replace(ends, edge="end of")  # "through May" has May in it; "until May" may or may not
    put_bound(sentence, "its end", ends=ends)


def _lasting(sentence: Sentence, item: Node) -> None:
    length, unit = item.node("amount"), item.token("UNIT")
    lasts = amount(length) if length is not None else amount_of(1, UNITS[unit.text if unit else "day"])
    put_bound(sentence, "how long it lasts", lasts=lasts)


def _times(sentence: Sentence, item: Node) -> None:
    count = number(item.nodes("number")[0])
    if count < 1 or count != int(count):
        raise sentence.refuse("how many times?", 'Say it as in "every day at 9:00, 10 times".')
    put_bound(sentence, "how many times", most=int(count))


def put_bound(sentence: Sentence, what: str, **values: object) -> None:
    for name, value in values.items():
        if getattr(sentence.bounds, name) is not None:
            raise sentence.refuse(f"it names {what} twice", "Name it once.")
        setattr(sentence.bounds, name, value)


def _except(sentence: Sentence, item: Node) -> None:
    bounds = sentence.bounds
    _check_leaves_out_once(sentence)
    dates, months, days = item.node("dates"), item.node("month_list"), item.node("weekday_list")
    if dates is not None:
        spans = ([calendar_date(day) for day in each.nodes("date")] for each in dates.nodes("date_range"))
        bounds.without_dates = tuple((each[0], each[-1]) for each in spans)
    elif months is not None:
        bounds.without_months = months_of(months)
    elif days is not None:
        bounds.without_weekdays = week_list(days)[0]


def _check_leaves_out_once(sentence: Sentence) -> None:
    bounds = sentence.bounds
    nths, days = bounds.without_nths, bounds.without_days
    dates = bounds.without_dates or bounds.without_day
    if bounds.without_weekdays or bounds.without_months or dates or days or nths:
        raise sentence.refuse(
            "it leaves days out twice", 'Say it once, as in "every day at 9:00 except Saturday and Sunday".'
        )


def _except_days(sentence: Sentence, item: Node) -> None:
    _check_leaves_out_once(sentence)
    found = days_of_months(item.nodes("month_days")[0], sentence.text, again=True)
    named = item.nodes("month_days")[0].node("of")
    of_some = named is not None and not named.token("MONTHS")
    from_end = any(nth < 0 for nth in (*found.days, *(nth for nth, _ in found.nths)))
    if found.business_days or of_some or from_end or (found.days and found.nths):
        raise sentence.refuse("these days can't be left out", 'Say it as in "every day at 9:00 except on the 1st".')
    sentence.bounds.without_days = found.days
    sentence.bounds.without_nths = found.nths


def _except_day(sentence: Sentence, item: Node) -> None:
    _check_leaves_out_once(sentence)
    sentence.bounds.without_day = point_of(item, sentence.text)


def _in_year(sentence: Sentence, item: Node) -> None:
    """`every Monday in 2028`: from its first day until its last."""
    year = _year(sentence, item)
    put_bound(sentence, "its start", starts=year, ends=replace(year, edge="end of"))


def _starting_year(sentence: Sentence, item: Node) -> None:
    put_bound(sentence, "its start", starts=_year(sentence, item))


def _year(sentence: Sentence, item: Node) -> Point:
    year = item.tokens("YEAR")[0].text
    if not is_year(year):
        raise sentence.refuse("which year?", 'Say it as in "every Monday at 9:00 until the end of 2030".')
    return Point(unit="year", year=int(year))


BOUND_ITEMS: Final[dict[str, Callable[[Sentence, Node], None]]] = {
    "in_year": _in_year,
    "starting": _starting,
    "starting_year": _starting_year,
    "starting_in": _starting_in,
    "from_to": _from_to,
    "only_on": _only_on,
    "until": _until,
    "lasting": _lasting,
    "times": _times,
    "except": _except,
    "except_days": _except_days,
    "except_day": _except_day,
}
