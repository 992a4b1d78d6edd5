"""From the row of items to what was said: one `Said` for each group of days with its times.

Nothing here asks what time it is. An item is noted once: whatever is said twice is refused, unless it is a list.
"""

from dataclasses import replace
from typing import Final

from cronty.timing.errors import BadTrigger
from cronty.timing.words.bounds import leave_out
from cronty.timing.words.engine import Node, Token
from cronty.timing.words.groups import settle_groups, settle_parts
from cronty.timing.words.often import check_often
from cronty.timing.words.said import Bounds, Point, Said
from cronty.timing.words.said_bounds import BOUND_ITEMS, put_bound
from cronty.timing.words.said_days import DAY_ITEMS, ends_with_ranked_weekday
from cronty.timing.words.said_times import TIME_ITEMS
from cronty.timing.words.sentence import AND, Sentence

_ITEMS: Final = DAY_ITEMS | TIME_ITEMS
_KINDS_OF_DAY: Final = ("weekdays", "from_weekdays", "month_days", "edge", "each", "every_nth_weekday")
_BEGIN_GROUP: Final = (*_KINDS_OF_DAY, "every", "every_nth", "adverb", "once_a")
_DAYS_ALONE: Final = ("weekdays", "from_weekdays", "month_days", "edge", "date", "months")
_BOUNDS: Final = (*BOUND_ITEMS, "month_of_year")
_LEAVES_OUT: Final = ("except", "except_days", "except_day")
_SEASONS: Final = ("months", "next_month", "month_of_year", "in_year")
_MAX_GROUPS: Final = 16


def build(text: str, items: Node) -> Sentence:
    """Note what each item of a sentence says."""
    sentence = Sentence(text)
    for part in items.parts:
        if isinstance(part, Token):
            _separate(sentence, part)
        else:
            (item,) = [each for each in part.parts if isinstance(each, Node)]
            _take(sentence, item)
        if len(sentence.groups) > _MAX_GROUPS:
            raise sentence.refuse(
                f"it says days with their times more than {_MAX_GROUPS} times", "Say fewer, and make several jobs."
            )
    if sentence.month_of_year and not any(said.names_day or said.every for said in sentence.groups):
        raise BadTrigger(
            f'"{text}" doesn\'t say on which day',
            f'Say on which day, as in "on 1 {sentence.month_of_year} at 9:00" or '
            f'"every day in {sentence.month_of_year} at 9:00".',
        )
    if sentence.from_now and not any(said.again or said.rhythm or said.every or said.weeks for said in sentence.groups):
        raise sentence.refuse("how long from now?", 'Say how long, as in "in 3 days at 9:00".')
    sentence.settle_hours()
    sentence.share_days()
    sentence.share_years()
    settle_groups(sentence)
    sentence.share_times()
    _settle_first_days(sentence)
    for said in sentence.groups:
        settle_parts(said)
    check_often(sentence)
    for said in sentence.alternatives:
        if not (said.again or said.rhythm):  # "on the 15th or Friday": one of the two, unlike "or on Fridays"
            raise sentence.refuse("which of the two days?", 'Name one of them, or say "and" for both.')
    return sentence


def _separate(sentence: Sentence, token: Token) -> None:
    if "OR" in token.kinds:
        sentence.said.put("the day", either=True)
        sentence.alternatives.append(sentence.said)
    elif "BREAK" in token.kinds:
        sentence.broken = True
    else:
        sentence.link = f"{sentence.link} {token.text}".strip()


def _begins_group(sentence: Sentence, item: Node) -> bool:
    """Whether these are other days, with times of their own."""
    said = sentence.said
    apart = bool(sentence.link) or _is_another_weekday(said, item)
    return apart and item.name in _BEGIN_GROUP and sentence.is_full and not said.either


def _has_rhythm(said: Said) -> bool:
    """Whether it comes every so many days, weeks or months."""
    return said.weeks > 0 or (said.every is not None and (said.every.months > 0 or said.every.days > 0))


def _is_another_kind(said: Said, before: str, item: Node) -> bool:
    """`every Monday and 3 May`, and the other way round."""
    if item.name == "date":
        return before in ("weekdays", "each", "relative") and bool(said.weekdays or said.relative is not None)
    return (
        item.name == "weekdays" and before in ("date", "each", "relative") and not said.weekdays and not said.of_month
    )


def _is_another_weekday(said: Said, item: Node) -> bool:
    """`Monday 9am Tuesday 10am`: a second day of the week after a time needs no comma."""
    day = item.node("weekdays") if item.name == "each" else item
    return bool(said.weekdays) and day is not None and day.name == "weekdays"


def _regroup(sentence: Sentence, item: Node) -> None:
    """Begin another group if the item is about other days, or times of its own."""
    said, link = sentence.said, sentence.link
    linked = not AND.isdisjoint(link.split())
    if link and sentence.before in _LEAVES_OUT and item.name in _DAYS_ALONE:
        # "except Sundays and in August": whether August is left out or added can't be told.
        raise sentence.refuse(
            "it leaves out days of several kinds", "Leave out one kind of day, and make another job for the rest."
        )
    if sentence.before in _LEAVES_OUT and item.name in _SEASONS:
        raise sentence.refuse(
            "are these days left out in those months alone, or is all of it in those months?",
            'Name the months first, as in "every weekday in August at 9:00 except Friday"; or make two jobs.',
        )
    if sentence.ranked and item.name == "weekdays":
        raise sentence.refuse(
            "does the rank hold for each of these days?",
            'Say it of each, as in "the first Monday and the first Friday of the month at 9:00".',
        )
    if item.name == "clocks" and sentence.before == "except" and sentence.bounds.without_weekdays and said.clocks:
        _other_time(sentence)
    elif sentence.broken and item.name not in _BOUNDS:
        sentence.begin(after=";")
        sentence.broken = False
    elif linked and item.name == "date" and sentence.is_full and not said.either:
        # "every weekday at 9:00 and 24 December": that date of each year, at the same time if it has none.
        if not any(each.again or each.rhythm for each in sentence.groups):
            raise sentence.refuse("it names several days", "Make a job for each.")
        sentence.begin(again=True)
    elif _begins_group(sentence, item):
        sentence.begin(lent=_has_rhythm(said) and item.name in _DAYS_ALONE)
    elif link and item.name == "clocks" and said.clocks and sentence.before in _KINDS_OF_DAY and not said.either:
        # "9am on weekdays, 10am on weekends": the time comes before its days.
        sentence.begin()
    elif linked and item.name in _KINDS_OF_DAY and sentence.before in _KINDS_OF_DAY and not said.either:
        said.either = True
    elif linked and _is_another_kind(said, sentence.before, item):
        if not (said.again or said.rhythm):  # "Monday and 3 May" are two days, even where 3 May is a Monday
            raise sentence.refuse("it names several days", "Make a job for each.")
        said.either = True
    elif linked and item.name == "every" and said.every is not None and said.windows:
        # "every 45 minutes from … and every 10 minutes from …": the same days, which are said at the end.
        sentence.begin(again=said.again, rhythm=said.rhythm)
    elif link and item.name == "date" and said.date is not None and sentence.before in ("date", "each"):
        # "every year on 3 May and 7 June": each date is a group, at the same times.
        sentence.begin(again=said.again, rhythm=said.rhythm)


def _settle_first_days(sentence: Sentence) -> None:
    """`(starting 5 April 2027)`: what comes every so many days counts from there; for anything else it is a start."""
    for said in sentence.groups:
        first = said.first_day
        if first is None:
            continue
        if (_has_rhythm(said) or said.cycle is not None) and first.year and len(first.choices) == 1:
            said.put("the first day", counting_from=first)
        elif len(sentence.groups) > 1:
            raise sentence.refuse("its start may hold for a part of it or for all", "Make two jobs.")
        else:
            said.first_day = None
            put_bound(sentence, "its start", starts=Point(date=first))


def _other_time(sentence: Sentence) -> None:
    """`daily at 8 except Sundays at 10`: these days have a time of their own."""
    if len(sentence.said.clocks) > 1:  # "daily at 9 and 17 except Fridays at 17": perhaps only that one is left out
        raise sentence.refuse(
            "which times of these days are left out?",
            'Say which they have, as in "Monday through Thursday at 9:00 and 17:00, and Friday at 9:00".',
        )
    said, days = sentence.said, sentence.bounds.without_weekdays
    sentence.bounds.without_weekdays = ()
    if len(sentence.groups) > 1 or sentence.bounds:
        raise sentence.refuse("which days have which time?", 'Say it as in "weekdays at 8:00 and weekends at 10:00".')
    left = leave_out(said, Bounds(without_weekdays=days))
    said.weekdays, said.rhythm, said.again, said.nths = left.weekdays, left.rhythm, left.again, left.nths
    sentence.bounded = False
    sentence.begin(after="and", again=True)
    sentence.said.weekdays = days


def _take(sentence: Sentence, item: Node) -> None:
    groups, bounds, empty = len(sentence.groups), replace(sentence.bounds), sentence.said == Said(sentence.text)
    _regroup(sentence, item)
    _ITEMS[item.name](sentence, item)
    if sentence.bounded and len(sentence.groups) > groups:
        raise sentence.refuse(
            "its start, its end or what is left out may hold for a part of it or for all",
            "Say it last if it holds for all of it, or make two jobs.",
        )
    sentence.bounded = sentence.bounded or (bounds != sentence.bounds and not empty)
    _check_date(sentence, item)
    if item.name in _BEGIN_GROUP:
        sentence.times_last = False
    elif item.name in ("clocks", "windows"):
        sentence.times_last = True
    sentence.before, sentence.link = item.name, ""
    sentence.ranked = ends_with_ranked_weekday(item)


def _check_date(sentence: Sentence, item: Node) -> None:
    """`every weekday, 1 June at 9`: not only where the two meet, which is said as "if that is also"."""
    said = sentence.said
    if item.name not in ("date", "weekdays", "each") or not (said.date and said.weekdays and said.again):
        return
    if not said.either and not said.rhythm:
        raise sentence.refuse(
            "days that repeat, and a date",
            'Say "every Monday and 3 May at 9:00" for both, or "every Monday at 9:00 starting 3 May".',
        )
