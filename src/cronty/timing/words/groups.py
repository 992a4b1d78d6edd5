"""What the groups of days in a sentence have to do with each other: one that narrows another, or is part of it."""

from dataclasses import replace
from typing import Final

from cronty.timing.errors import Unread
from cronty.timing.words.clocks import usual
from cronty.timing.words.said import Said
from cronty.timing.words.sentence import Sentence

_WEEK: Final = frozenset(range(7))


def settle_groups(sentence: Sentence) -> None:
    """Narrow `daily at 9, Monday to Friday` to these days; refuse days without a time that are said already."""
    first, *more = sentence.groups
    kept = [first]
    for said in more:
        if _has_time(said) or said.after == ";":
            kept.append(said)
        elif _narrows(said, kept[-1]):
            kept[-1].weekdays, kept[-1].months = said.weekdays, said.months
        elif _repeats(said, kept[-1]):
            raise sentence.refuse(
                "it names the same days twice",
                'Name them once, as in "every weekday at 9:00", or give each a time of its own.',
            )
        else:
            kept.append(said)
    sentence.groups = kept
    for said in kept:
        _narrow_to_days(said)


def except_in_part(sentence: Sentence) -> bool:
    """`daily at 8:00, weekends at 10:00`: take the weekends out of the first; whether there was something to take."""
    taken = False
    for other, said in zip(sentence.groups, sentence.groups[1:], strict=False):
        inner, outer = _weekdays_of(said), _weekdays_of(other)
        if said.after == "," and inner is not None and outer is not None and inner < outer:
            other.weekdays, other.rhythm, taken = tuple(sorted(outer - inner)), "", True
    return taken


def settle_parts(said: Said) -> None:
    """`every morning and evening at 8` is at 8:00 and 20:00; without a time it is the usual ones."""
    if not said.parts:
        return
    if said.part or len(said.clocks) > 1 or any(each.part for each in said.clocks):
        raise Unread(
            f'Can\'t read "{said.text}": which time in which part of the day?',
            'Say it as in "every morning at 8:00 and every evening at 21:00".',
        )
    name = " and ".join(said.parts)
    said.clocks = [replace(each, part=part) for part in said.parts for each in said.clocks] or [
        usual(part, name) for part in said.parts
    ]
    said.parts = ()


def _has_time(said: Said) -> bool:
    return bool(
        said.clocks
        or said.windows
        or said.part
        or said.parts
        or said.first_clock
        or said.minutes
        or said.every is not None
    )


def _narrows(said: Said, other: Said) -> bool:
    """Whether these are the days on which "every day" holds; with an "and" they would be more days."""
    plain = _weekdays_of(other) == _WEEK and other.rhythm == "day"
    others = said.of_month or said.nths or said.date is not None or said.rhythm or said.weeks or said.either
    return plain and not others and len(said.weekdays) > 1 and said.after == ","


def _repeats(said: Said, other: Said) -> bool:
    inner, outer = _weekdays_of(said), _weekdays_of(other)
    if outer == _WEEK or inner == _WEEK:
        return True
    return inner is not None and outer is not None and (inner <= outer or outer <= inner)


def _weekdays_of(said: Said) -> frozenset[int] | None:
    """The days of every week that a group names, if it names nothing else."""
    others = said.of_month or said.nths or said.date is not None or said.months or said.relative is not None
    period = said.weeks or said.cycle is not None or (said.every is not None and not said.every.within_day)
    if others or period or said.which or said.either or said.rhythm in ("week", "month", "year"):
        return None
    return frozenset(said.weekdays) or (_WEEK if said.rhythm == "day" else None)


def _narrow_to_days(said: Said) -> None:
    """`every day Mon-Fri at 9:00` is on these days; whether the nights of these days is open."""
    others = said.of_month or said.nths or said.date is not None or said.either or said.which
    if said.rhythm == "day" and len(said.weekdays) > 1 and not others:
        said.rhythm, said.again = "", True
        said.doubt = "nights" if said.part == "night" else ""
