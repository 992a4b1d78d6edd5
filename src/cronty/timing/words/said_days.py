"""What the items that name days add to what was said."""

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from cronty.timing.errors import Unread
from cronty.timing.words.amounts import number
from cronty.timing.words.clocks import clock, is_year
from cronty.timing.words.dates import calendar_date, checked
from cronty.timing.words.days import MonthDays, days_of_months, edge_of, months_of, point_of, week_list
from cronty.timing.words.engine import Node
from cronty.timing.words.said import Point, Said
from cronty.timing.words.said_bounds import BOUND_ITEMS, put_bound
from cronty.timing.words.sentence import Sentence
from cronty.timing.words.vocabulary import MONTH_NAMES, MONTHS, PARTS, WEEKDAYS, WEEKDAYS_PLURAL

# -- days ---------------------------------------------------------------------------------------------------------


def _relative(sentence: Sentence, item: Node) -> None:
    said = sentence.said
    if said.relative is not None:
        raise sentence.refuse("it names the day twice", "Name it once.")
    said.relative = 2 if item.token("AFTER") else 1 if item.token("TOMORROW") else 0
    if item.token("TONIGHT"):
        said.put("the part of the day", part="night")


def _part(sentence: Sentence, item: Node) -> None:
    said, word = sentence.said, item.tokens("PART")[0].text
    if item.token("THIS"):
        if said.relative is not None:
            raise sentence.refuse("it names the day twice", "Name it once.")
        said.relative = 0
    said.again = said.again or word.endswith("s")
    said.put("the part of the day", part=PARTS[word])


def _parts(sentence: Sentence, item: Node) -> None:
    """`in the morning and evening`."""
    said, words = sentence.said, [each.text for each in item.tokens("PART")]
    said.again = said.again or any(word.endswith("s") for word in words) or item.token("EVERY") is not None
    said.put("the part of the day", parts=tuple(PARTS[word] for word in words))


def _business_days(sentence: Sentence, item: Node) -> None:
    """`the next business day`, `in 3 business days`."""
    many = item.node("number")
    count = 1 if many is None else number(many)
    if not 1 <= count <= 260 or count != int(count):
        raise sentence.refuse("how many business days?", 'Say it as in "in 3 business days at 9:00".')
    sentence.said.put("the day", business_ahead=int(count))


def _weekdays(sentence: Sentence, item: Node) -> None:
    said, listed = sentence.said, item.node("weekday_list")
    if item.token("WEEKENDS"):
        which = "next" if item.token("NEXT") else "this"
        said.put("the day of the week", weekdays=(5, 6), which=which)
        return
    this, week = item.token("THIS", "NEXT"), item.token("WEEK") is not None
    which = "" if this is None else ("next" if "NEXT" in this.kinds else "this") + (" week" if week else "")
    if listed is None:
        name = item.tokens("WEEKDAY")[0].text
        days, again, own = (WEEKDAYS.get(name, 0),), name not in WEEKDAYS, ()
    else:
        days, again, own = week_list(listed)
    if which and (again or own or len(days) > 1):
        raise sentence.refuse("which day?", 'Say which day, as in "next Monday at 9:00".')
    if said.weekdays and said.either and "or" not in sentence.text.lower().split():
        raise sentence.refuse("two days at once", 'Make a job for each, as in "this Saturday at 10:00".')
    if said.weekdays and said.either:
        raise Unread(f'Can\'t read "or" in "{sentence.text}"', 'Say "and" between times or days.')
    if said.weeks and own:
        raise sentence.refuse("two different rhythms", "Make a job for each.")
    said.put("the day of the week", weekdays=tuple(sorted({*days, *own})), which=which)
    if item.token("THE") and listed is not None and _names_weekend(listed):
        said.doubt = "weekend"
    said.again = said.again or again or len(said.weekdays) > 1


def _same_weekdays(sentence: Sentence, item: Node) -> None:
    """`every weekday (Mon-Fri)`, or `daily (Mon-Fri)`."""
    said, days = sentence.said, week_list(item.nodes("weekday_list")[0])[0]
    if said.weekdays and said.weekdays != days:
        raise sentence.refuse("the two lists of days differ", "Name the days once.")
    said.weekdays, said.again = days, True


def _names_weekend(listed: Node) -> bool:
    return [each.text for day in listed.nodes("weekday") for each in day.tokens("WEEKENDS", "WEEKDAY")] == ["weekend"]


def _from_weekdays(sentence: Sentence, item: Node) -> None:
    days, again, _ = week_list(Node("weekday_list", item.parts))
    if not again:
        sentence.bounds.starts = point_of(Node("point", tuple(item.nodes("weekday")[0].parts)), sentence.text)
        return
    sentence.said.put("the day of the week", weekdays=days)
    sentence.said.again = True


def _month_days(sentence: Sentence, item: Node) -> None:
    said, of = sentence.said, item.node("of")
    found = days_of_months(item, sentence.text, again=said.again or said.rhythm != "" or of is not None)
    if said.date is not None and said.date.comes_every_year and found.days and of is None and sentence.link:
        _more_dates(sentence, found)
        return
    if found.nths and found.business_days:
        raise sentence.refuse("too many kinds of day", "Make a job for each.")
    ranks = [_kind_of_rank(each) for each in item.nodes("nth")]
    if any(pair == ("word", "weekday") for pair in pairwise(ranks)):
        raise sentence.refuse(
            "is that a day of the month, or of the week?",
            'Say "the first and third Friday of the month at 9:00", or "the 1st and the third Friday of the month at '
            '9:00".',
        )
    twice = (
        (said.month_days and found.days) or (said.nths and found.nths) or (said.business_days and found.business_days)
    )
    if twice or ((said.of_month or said.nths) and not said.either):
        raise sentence.refuse("it names the day of the month twice", "Name it once, or make two jobs.")
    if said.months_of_day and (said.of_month or said.nths):
        raise sentence.refuse("of which months?", "Make two jobs, one for each kind of day.")
    said.month_days += found.days
    said.nths += found.nths
    said.business_days += found.business_days
    if found.doubtful:
        said.doubt = "ranks"
    plural = any(token.text in WEEKDAYS_PLURAL for each in item.nodes("nth") for token in each.tokens("WEEKDAY"))
    if len(said.month_days) > 1 or len(said.nths) > 1 or plural:
        said.again = True
    if found.days and (found.nths or found.business_days):
        said.either = said.again = True
    if of is None:
        return
    named = of.node("month_list")
    if named is not None:
        _of_months(said, months_of(named), again=of.token("EVERY") is not None)
    elif (month := of.token("THIS", "NEXT")) is not None:
        said.months_ahead = int("NEXT" in month.kinds)
    elif of.token("QUARTER"):
        from_end = all(each < 0 for each in (*found.days, *found.business_days, *(nth for nth, _ in found.nths)))
        said.put("the month", months=(3, 6, 9, 12) if from_end else (1, 4, 7, 10), months_of_day=True)
        said.again = True
    elif of.token("YEARS"):
        from_end = all(each < 0 for each in (*found.days, *found.business_days, *(nth for nth, _ in found.nths)))
        said.put("the month", months=(12,) if from_end else (1,), months_of_day=True)
        said.again = True
    else:
        said.again = True


def _kind_of_rank(nth: Node) -> str:
    """`the first`, which may be one of the days that follow, unlike `the 1st`; or `the third Friday`."""
    if nth.tokens("WEEKDAY"):
        return "weekday"
    ordinal = nth.node("ordinal")
    return "word" if ordinal is not None and len(nth.nodes("ordinal")) == 1 and ordinal.tokens("ORDINAL_WORD") else ""


def ends_with_ranked_weekday(item: Node) -> bool:
    """`the first Monday`, of no month yet: after "and", another day of the week may be the first one too."""
    days = item if item.name == "month_days" else item.node("month_days")
    return days is not None and days.node("of") is None and bool(days.nodes("nth")[-1].tokens("WEEKDAY"))


def _more_dates(sentence: Sentence, found: MonthDays) -> None:
    """`every year on 24 December and the 25th`: another day of the same month."""
    said = sentence.said
    assert said.date is not None
    if found.nths or found.business_days or min(found.days) < 0:
        raise sentence.refuse("too many kinds of day", "Make a job for each.")
    ((_, month),) = said.date.choices
    said.either = False
    for day in found.days:
        date = checked(((day, month),), None)
        sentence.groups.append(Said(sentence.text, date=date, again=said.again, rhythm=said.rhythm))


def _of_months(said: Said, months: tuple[int, ...], *, again: bool) -> None:
    if not again and len(months) == 1 and len(said.month_days) == 1 and said.month_days[0] > 0 and not said.either:
        said.put("the date", date=checked(((said.month_days[0], months[0]),), None))
        said.month_days = ()
        return
    said.put("the month", months=months, months_of_day=True)
    said.again = said.again or again or len(months) > 1


def _edge(sentence: Sentence, item: Node) -> None:
    said = sentence.said
    day, months = edge_of(item)
    said.put("the day of the month", month_days=(day,))
    if (month := item.token("THIS", "NEXT")) is not None:
        said.months_ahead = int("NEXT" in month.kinds)
    elif (year := item.node("year")) is not None:
        said.put("the month", month_of_year=(int(year.tokens("YEAR")[0].text), *months))
    elif months:
        said.put("the month", months=months, months_of_day=True)
    said.again = said.again or item.token("EVERY") is not None


def _of_year(sentence: Sentence, item: Node) -> None:
    """`first Monday of May 2028`."""
    found = days_of_months(Node("month_days", (Node("nth", item.parts),)), sentence.text, again=True)
    month, year = item.tokens("MONTH")[0], item.tokens("YEAR")[0]
    sentence.said.put("the day of the month", month_days=found.days, nths=found.nths)
    sentence.said.put("the business day", business_days=found.business_days)
    sentence.said.put("the month", month_of_year=(int(year.text), MONTHS[month.text]))


def _date(sentence: Sentence, item: Node) -> None:
    sentence.said.put("the date", date=calendar_date(item))


def _months(sentence: Sentence, item: Node) -> None:
    said, listed = sentence.said, item.nodes("month_list")[0]
    names = [name for each in listed.nodes("month_range") for name in each.tokens("MONTH")]
    if item.token("FROM") and len(names) == 1 and not item.token("EVERY"):
        # "from June" is a start, "from June to August" are months.
        put_bound(sentence, "its start", starts=Point(edge="start of", month=MONTHS[names[0].text]))
        return
    said.put("the month", months=months_of(listed))
    said.again = said.again or item.token("EVERY") is not None


def _month_of_year(sentence: Sentence, item: Node) -> None:
    """`every day in June 2027`: from its first day until its last."""
    month, year = MONTHS[item.tokens("MONTH")[0].text], item.tokens("YEAR")[0].text
    if not is_year(year):
        sentence.said.put("the month", months=(month,))
        sentence.said.put("the time", clocks=[clock(Node("clock", (Node("digits", tuple(item.tokens("YEAR"))),)))])
        return
    first, final = (Point(edge=edge, month=month, year=int(year)) for edge in ("start of", "end of"))
    put_bound(sentence, "its start", starts=first, ends=final)
    sentence.month_of_year = f"{MONTH_NAMES[month - 1]} {year}"


def _also(sentence: Sentence, item: Node) -> None:
    """`if that is also a Friday`: one more test for the same days."""
    said, tests = sentence.said, item.nodes("also_day")
    weekdays = [WEEKDAYS.get(token.text, 7) for each in tests for token in each.tokens("WEEKDAY")]
    weekdays += [day for each in tests if each.token("WORKDAYS") and not each.nodes("nth") for day in range(5)]
    ranked = [days_of_months(each, sentence.text, again=True) for each in tests if each.nodes("nth")]
    if said.either or 7 in weekdays or any(each.days for each in ranked):
        raise sentence.refuse("which days?", 'Say it as in "on the 13th at 9:00 if that is also a Friday".')
    if weekdays:
        said.put("the day of the week", weekdays=tuple(sorted(set(weekdays))))
    for each in ranked:
        said.put("the business day", business_days=each.business_days) if each.business_days else None
        said.nths += each.nths
    said.ranked_too = bool(said.nths and weekdays)


def _next_month(sentence: Sentence, item: Node) -> None:
    if sentence.said.months_ahead is not None:
        raise sentence.refuse("it names the month twice", "Name it once.")
    sentence.said.months_ahead = int(item.token("NEXT") is not None)


def _of_month(sentence: Sentence, item: Node) -> None:
    del item
    sentence.said.again = True


def _remark(sentence: Sentence, item: Node) -> None:
    said = sentence.said
    if item.token("ONCE"):
        sentence.once = True
    elif item.token("NOW"):
        sentence.from_now = True
    elif item.token("CLOCK"):
        said.by_clock = True
    elif item.token("PASS"):
        said.second_pass = True
    elif item.token("STARTING"):
        said.put("the first day", first_day=calendar_date(item.nodes("date")[0]))
    elif (since := item.node("date")) is not None:
        found = calendar_date(since)
        if found.year is None or len(found.choices) > 1:
            raise Unread(
                f'Can\'t read the date after "counting from" in "{sentence.text}"',
                'Give it with its year, as in "every 2 weeks on Monday at 9:00, counting from 5 January 2026".',
            )
        said.put("the first week", counting_from=found)


def _past(sentence: Sentence, item: Node) -> None:
    del item
    hint = 'Name a time to come, as in "tonight at 21:00" or "tomorrow at 9:00".'
    raise sentence.refuse("it has passed", hint)


DAY_ITEMS: Final[dict[str, Callable[[Sentence, Node], None]]] = {
    "also": _also,
    "relative": _relative,
    "part": _part,
    "parts": _parts,
    "business_days": _business_days,
    "weekdays": _weekdays,
    "same_weekdays": _same_weekdays,
    "from_weekdays": _from_weekdays,
    "month_days": _month_days,
    "edge": _edge,
    "of_year": _of_year,
    "date": _date,
    "months": _months,
    "month_of_year": _month_of_year,
    "of_month": _of_month,
    "next_month": _next_month,
    "remark": _remark,
    "past": _past,
    **BOUND_ITEMS,
}
