"""What the items that say how often, how long and at what time add to what was said."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.amounts import amount, amount_of, number
from cronty.timing.words.clocks import clock, hours_or_minutes, is_minutes, is_year
from cronty.timing.words.days import months_of, nth_of, week_list
from cronty.timing.words.engine import Node
from cronty.timing.words.often import put_often
from cronty.timing.words.said import LAST, Amount, Said, Window
from cronty.timing.words.said_days import DAY_ITEMS
from cronty.timing.words.sentence import Sentence
from cronty.timing.words.vocabulary import ADVERBS, NUMBERS, PARTS, UNITS, WEEKDAYS, ordinal

_RHYTHMS: Final = {
    Amount(days=1): "day",
    Amount(days=7): "week",
    Amount(months=1): "month",
    Amount(months=12): "year",
}


# -- how often ----------------------------------------------------------------------------------------------------


def _put_each(said: Said, count: float, unit: str) -> None:
    """`every day` is a rhythm of the calendar, `every hour` a length of time."""
    if count == 1 and unit in _RHYTHMS.values():
        said.put("the rhythm", rhythm=unit)
        said.again = True
        return
    said.quarterly = said.quarterly or (count == 1 and unit == "quarter")
    _put_period(said, amount_of(count, unit), in_weeks=unit in ("week", "fortnight"))


def _put_period(said: Said, period: Amount, *, in_weeks: bool = False) -> None:
    """Weeks are kept apart: with a day of the week they are something else than elapsed time."""
    weeks = period.days // 7
    if in_weeks and weeks > 1:
        said.put("the rhythm", weeks=weeks)
        said.again = True
    elif said.every is not None and said.every.within_day != period.within_day:
        # "every 15 minutes from 9 to 10 every 2 days": one says when in the day, the other on which.
        said.put("the rhythm", cycle=said.every if period.within_day else period)
        said.every = period if period.within_day else said.every
    else:
        said.put("the rhythm", every=period)


def _every(sentence: Sentence, item: Node) -> None:
    said, length, unit = sentence.said, item.node("amount"), item.token("UNIT")
    if length is None:
        assert unit is not None
        if len(unit.text) == 1:
            raise sentence.refuse("every what?", 'Say the unit, as in "every 5 minutes".')
        _put_each(said, 1, UNITS[unit.text])
        if item.token("ONCE"):
            put_often(sentence, 1, UNITS[unit.text])
        return
    period, same = amount(length), item.node("same")
    if same is not None:
        if amount(same.nodes("amount")[0]).elapsed != period.elapsed:
            raise sentence.refuse("the two lengths differ", "Name one length.")
        _put_period(said, period)
    elif period in _RHYTHMS and (period.days != 7 or _is_in_weeks(length)):
        said.put("the rhythm", rhythm=_RHYTHMS[period])
        said.again = True
    else:
        _put_period(said, period, in_weeks=_is_in_weeks(length))


def _is_in_weeks(length: Node) -> bool:
    units = [UNITS[each.text] for quantity in length.nodes("quantity") for each in quantity.tokens("UNIT")]
    return len(units) == 1 and units[0] in ("week", "fortnight")


def _every_nth(sentence: Sentence, item: Node) -> None:
    unit = UNITS[item.tokens("UNIT")[-1].text]
    count = _rank(sentence, item)
    if unit == "day" and (count < 0 or count == 1):
        # "Every first day" is of the month, not every day.
        sentence.said.put("the day of the month", month_days=(count,))
        sentence.said.again = True
        return
    if count < 2:
        raise sentence.refuse("every what?", 'Say it as in "every 2 days at 9:00".')
    _put_each(sentence.said, count, unit)


def _rank(sentence: Sentence, item: Node) -> int:
    ordinal = item.node("ordinal")
    return 2 if ordinal is None else nth_of(ordinal, sentence.text)


def _every_nth_weekday(sentence: Sentence, item: Node) -> None:
    said, nth, other = sentence.said, _rank(sentence, item), item.token("OTHER") is not None
    (listed,) = item.nodes("weekday_list")
    days, _, own = week_list(listed)
    if len(days) == 5 and not other and listed.nodes("weekday")[0].token("WORKDAYS", "BUSINESS"):
        _put_business_day(sentence, nth)
        return
    if len(days) > 4 and other:
        raise sentence.refuse(
            "every other of these days, or all of them every other week?",
            'Say "every 2 weeks on weekdays at 9:00", or name the days, as in "every Monday and Thursday at 9:00".',
        )
    if listed.nodes("weekday")[0].token("WEEKENDS") and not other:
        # The first Saturday and the first Sunday of a month may be of two weekends.
        raise sentence.refuse("which day of the weekend?", 'Say it as in "first Saturday of the month at 10:00".')
    if nth in (1, LAST) or nth < 0:
        said.again = True
        said.nths += tuple((nth, day) for day in days)
        return
    said.put("the rhythm", weeks=nth, doubt="" if other or nth > 5 else "nth")
    said.again = True
    said.put("the day of the week", weekdays=days)
    if own:
        # "every other Monday and every Thursday": the second is a rhythm of its own.
        sentence.groups.append(Said(sentence.text, weekdays=own, again=True))


def _put_business_day(sentence: Sentence, nth: int) -> None:
    """`every first business day` is of the month; every third one may be one of every three."""
    if nth > 1:
        name = f"{ordinal(nth)} business day"
        raise sentence.refuse(
            "of the month, or one of so many?", f'Say "{name} of the month at 9:00", or "every weekday at 9:00".'
        )
    sentence.said.again = True
    sentence.said.put("the business day", business_days=(nth,))


def _each(sentence: Sentence, item: Node) -> None:
    said = sentence.said
    said.again = True
    part = item.token("PART")
    if part is not None:
        said.put("the rhythm", rhythm="day")
        said.put("the part of the day", part=PARTS[part.text])
        return
    (day,) = [each for each in item.parts if isinstance(each, Node)]
    if day.name == "parts":
        said.put("the rhythm", rhythm="day")
        DAY_ITEMS["parts"](sentence, day)
    elif day.name == "month_list":
        said.put("the month", months=months_of(day))
        said.bare_month = True
    else:
        DAY_ITEMS[day.name](sentence, day)
        if day.name == "month_days":
            _doubt_rank(said, day)


def _doubt_rank(said: Said, day: Node) -> None:
    """`every second Tuesday in June`: the second one of it, or every 2 weeks in it."""
    of = day.node("of")
    if of is None or not of.token("IN") or of.node("month_list") is None or said.of_month or len(said.nths) != 1:
        return
    ((nth, weekday),) = said.nths
    if 1 < nth <= 5 and not said.weekdays and not said.weeks:
        said.nths, said.weekdays, said.weeks, said.doubt = (), (weekday,), nth, "nth"


def _every_noon(sentence: Sentence, item: Node) -> None:
    sentence.said.put("the rhythm", rhythm="day")
    sentence.said.again = True
    (named,) = item.tokens("NOON", "MIDNIGHT")
    sentence.said.put("the time", clocks=[clock(Node("clock", (Node("named", (named,)),)))])


def _adverb(sentence: Sentence, item: Node) -> None:
    said, word = sentence.said, item.tokens("ADVERB")[0].text
    _put_each(said, *ADVERBS[word])
    if word == "biweekly":
        said.doubt = "twice"
    if word == "nightly":
        said.put("the part of the day", part="night")


def _once_a(sentence: Sentence, item: Node) -> None:
    unit = UNITS[item.tokens("UNIT")[-1].text]
    _put_each(sentence.said, 1, unit)
    put_often(sentence, 1, unit)


def _times_a(sentence: Sentence, item: Node) -> None:
    """`twice a day`: the times that are named must be as many."""
    adverb, twice, many = item.token("ADVERB"), item.token("TWICE"), item.node("number")
    each, unit = ADVERBS[adverb.text] if adverb else (1, UNITS[item.tokens("UNIT")[-1].text])
    count = number(many) if many else 2 if twice and twice.text == "twice" else 3
    if each != 1 or count < 1 or count != int(count) or (adverb and adverb.text == "nightly"):
        raise sentence.refuse("how often?", 'Say it as in "twice a day at 9:00 and 17:00".')
    put_often(sentence, int(count), unit)
    _put_each(sentence.said, 1, unit)


# -- how long -----------------------------------------------------------------------------------------------------


def _delay(sentence: Sentence, item: Node) -> None:
    (length,) = item.nodes("amount")
    written = [each.token("HH_MM", "HOUR_H", "FOUR_HOURS") for each in length.nodes("quantity")]
    if len(item.parts) == 1 and None not in written:
        # `17h30` without "in" is a time of day; alone it may be a delay, unlike `1700hrs`.
        faces = [Node("digits", (each,)) for each in written if each is not None]
        sentence.said.put("the time", clocks=[clock(Node("clock", (each,))) for each in faces])
        sentence.said.doubt = "" if len(faces) > 1 or faces[0].token("FOUR_HOURS") else "delay"
        return
    sentence.said.put("the delay", delay=amount(length))


def _delay_from(sentence: Sentence, item: Node) -> None:
    _delay(sentence, item)
    sentence.said.delay_from = True
    (day,) = [each for each in item.parts if isinstance(each, Node) and each.name != "amount"]
    if day.name == "weekday":
        days, again, _ = week_list(Node("weekday_list", (day,)))
        if again or len(days) > 1:
            raise sentence.refuse("from which day?", 'Name one day, as in "a week from Monday at 9:00".')
        sentence.said.put("the day of the week", weekdays=days)
    else:
        DAY_ITEMS[day.name](sentence, day)


def _week_after(sentence: Sentence, item: Node) -> None:
    """`Friday week` and `a week on Friday`: a week after the coming Friday; `2 weeks today`."""
    many = item.node("number")
    sentence.said.put("the delay", delay=amount_of(1 if many is None else number(many), "week"))
    sentence.said.delay_from = True
    if (day := item.token("WEEKDAY")) is None:
        DAY_ITEMS["relative"](sentence, item)
    elif day.text not in WEEKDAYS:
        raise sentence.refuse("from which day?", 'Name one day, as in "a week from Monday at 9:00".')
    else:
        sentence.said.put("the day of the week", weekdays=(WEEKDAYS[day.text],))


# -- the clock ----------------------------------------------------------------------------------------------------


def _clocks(sentence: Sentence, item: Node) -> None:
    if sentence.said.clocks and sentence.said.either and sentence.before == "clocks":
        raise Unread(f'Can\'t read "or" in "{sentence.text}"', 'Decide for one of the times, or say "and" for both.')
    said, at = sentence.said, item.token("AT", "BY") is not None
    if said.clocks and not (sentence.before == "clocks" and sentence.link):
        hint = 'Name it once, as in "tomorrow at 9:30", or all of them, as in "every day at 9:00 and 17:00".'
        raise sentence.refuse("it names the time twice", hint)
    if sentence.before == "delay" and not at and said.delay is not None and said.delay.rest:
        _check_unit(sentence, item.nodes("clock")[0])
    for node in item.nodes("clock"):
        face = node.node("digits")
        if face is not None and not at:
            _check_bare(sentence, face)
        hours = hours_or_minutes(node)
        if hours is not None:
            final = hours.end.hour % 12 or 12 if hours.end.of_12 else hours.end.hour
            in_digits = node.nodes("past_or_to")[0].token("SMALL") is not None
            if in_digits and not at and is_minutes(node) and hours.start.hour < final:
                sentence.hours_or_minutes = True
            sentence.unsure.append((said, len(said.clocks), hours, at or is_minutes(node)))
        said.clocks.append(clock(node))
    sentence.by = sentence.by or item.token("BY") is not None


def _check_unit(sentence: Sentence, node: Node) -> None:
    """`in 1 hour 30` lacks its unit."""
    face = node.node("hour")
    number = None if face is None or face.token("AMPM", "OCLOCK") else face.token("SMALL", "NUMBER_WORD")
    if number is not None:
        raise sentence.refuse(f"{number.text} what?", 'Say the unit, as in "in 1 hour 30 minutes".')


def _check_bare(sentence: Sentence, face: Node) -> None:
    """`0900` is a time, but `2030` may be a year."""
    year = face.token("YEAR")
    if year is not None and is_year(year.text):
        raise sentence.refuse(
            f'"{year.text}" may be a time or a year',
            f'Say "at {year.text[:2]}:{year.text[2:]}" for the time, or give a whole date, as in "3 May 2027".',
        )


def _windows(sentence: Sentence, item: Node) -> None:
    said = sentence.said
    if said.windows:
        raise sentence.refuse("it names the hours twice", "Name them once, or make two jobs.")
    for node in item.nodes("window", "span"):
        start, end = (clock(each) for each in node.nodes("clock"))
        to = node.node("to")
        said.windows.append(Window(start, end, to is not None and to.token("THROUGH") is not None))


def _from_time(sentence: Sentence, item: Node) -> None:
    face = item.nodes("clock")[0].node("digits")
    if face is not None and not item.token("AT"):
        _check_bare(sentence, face)
    sentence.said.put("the hours", first_clock=clock(item.nodes("clock")[0]))
    sentence.said.first_run = item.token("STARTING") is not None


def _minute(sentence: Sentence, item: Node) -> None:
    said = sentence.said
    ranges = item.nodes("minute_range")
    colons, numbers = item.tokens("COLON_MINUTE"), item.tokens("SMALL", "NUMBER_WORD")
    if ranges:
        found = [minute for each in ranges for minute in _minutes(sentence, each)]
    elif colons:
        found = [int(each.text[1:5]) for each in colons]
    elif numbers:
        found = [NUMBERS.get(numbers[0].text) or int(numbers[0].text)]
    else:
        found = [30 if item.token("HALF") else 15 if item.token("QUARTER") else 0]
    if item.token("TO"):
        found = [60 - each for each in found]
    if max(found) > 59:
        raise BadTrigger(
            f"There is no minute {max(found)}", 'Minutes run from 0 to 59, as in "every hour at minute 15".'
        )
    said.put("the minute", minutes=tuple(sorted(set(found))))
    of_hour = item.node("of_hour") or item
    if of_hour.token("EVERY") is not None:
        said.put("the rhythm", every=Amount(rest=timedelta(hours=1)))


def _minutes(sentence: Sentence, node: Node) -> list[int]:
    first, *final = (int(each.text.partition(".")[0][:4]) for each in node.tokens("SMALL", "LONG"))
    if final and final[0] <= first:
        raise Unread(
            f'Can\'t read the minutes in "{sentence.text}"', 'Say it as in "every hour at minutes 0 through 29".'
        )
    return list(range(first, (final[0] if final else first) + 1))


TIME_ITEMS: Final[dict[str, Callable[[Sentence, Node], None]]] = {
    "every": _every,
    "every_nth": _every_nth,
    "every_nth_weekday": _every_nth_weekday,
    "each": _each,
    "every_noon": _every_noon,
    "adverb": _adverb,
    "once_a": _once_a,
    "times_a": _times_a,
    "business_days": DAY_ITEMS["business_days"],
    "delay": _delay,
    "delay_from": _delay_from,
    "week_after": _week_after,
    "clocks": _clocks,
    "windows": _windows,
    "from_time": _from_time,
    "minute": _minute,
}
