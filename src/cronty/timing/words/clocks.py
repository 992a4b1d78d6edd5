"""Times of day: how they are said, and which ones they may mean."""

import re
from dataclasses import replace
from datetime import time, timedelta
from itertools import product
from typing import Final

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.engine import Node
from cronty.timing.words.said import Clock, Window
from cronty.timing.words.vocabulary import NUMBERS, PARTS, Part

_HOURS: Final = 'Hours run from 0 to 23; the end of a day is "00:00" of the next one.'
_HOUR: Final = timedelta(hours=1)
_NOON: Final = timedelta(hours=12)
_DAY: Final = timedelta(hours=24)
_DIGITS: Final = re.compile(r"(\d+)(?:[:.](\d\d)((?::\d\d(?:\.\d+)?)?))? ?([ap]m)?")
# Hours that a part of the day can mean, said on a 24-hour clock; night goes on after midnight.
_PART_HOURS: Final = {
    "morning": range(12),
    "afternoon": range(12, 19),
    "evening": range(16, 24),
    "night": range(18, 30),
}
# What is offered if only the part of the day was said.
_USUAL: Final = {"morning": 9, "afternoon": 15, "evening": 19, "night": 21}
_SOFT: Final = {"first": 9, "lunch": 12, "lunchtime": 12, "eod": 17, "cob": 17, "end": 17, "the": 17}


def clock(node: Node) -> Clock:
    """The time that a `clock` names, with the part of the day if that is said with it."""
    (face,) = [each for each in node.parts if isinstance(each, Node)]
    part = node.token("PART")
    return replace(_face(face), part="" if part is None else PARTS[part.text])


def is_year(digits: str) -> bool:
    """Whether four digits may be a year: `2030`, unlike `1830` or `1930`."""
    return 1960 <= int(digits) < 2200


def usual(part: Part, said: str) -> Clock:
    """The time that is offered for a part of the day."""
    return Clock(_USUAL[part] * _HOUR, soft=said)


def _face(face: Node) -> Clock:
    first = face.parts[0]
    text = "" if isinstance(first, Node) else first.text
    match face.name:
        case "named":
            if text.isdigit() and text != "12":
                raise BadTrigger(f"{text} isn't noon or midnight", 'Say "at noon", "at midnight" or the time.')
            return Clock(timedelta(0), midnight=True) if face.token("MIDNIGHT") else Clock(_NOON)
        case "soft":
            return Clock(
                _SOFT[text] * _HOUR,
                soft=" ".join(each.text for each in face.tokens("SOFT", "THE", "END", "OF", "DAY", "FIRST", "THING")),
            )
        case "hour":
            half = face.token("AMPM")
            return _clock(_number(text), "", "" if half is None else half.text, sure=text.startswith("0"))
        case "spelled":
            minutes = NUMBERS[face.tokens("NUMBER_WORD")[1].text]
            if minutes < 10:  # "nine five" may be from nine to five
                raise Unread(
                    f'Can\'t tell the time of "{text}" and {minutes}', 'Say it as in "9:05" or "nine oh five".'
                )
            half = face.token("AMPM")
            return _clock(NUMBERS[text], f"{minutes:02}", "" if half is None else half.text, sure=False)
        case "half_hour":
            hour, half = face.tokens("SMALL", "NUMBER_WORD")[0].text, face.token("AMPM")
            found = _clock(_number(hour), "30", "" if half is None else half.text, sure=False)
            return replace(found, open=half is None and found.hour <= 12, or_before=True)
        case "digits" if face.token("HOUR_H"):
            return _clock(int(text[:-1]), "", "", sure=text.startswith("0"))
        case "digits":
            hours, minutes = text.split("h") if face.token("HH_MM") else (text[:2], text[2:4])
            return _clock(int(hours), minutes, "", sure=True)
        case "past_or_to":
            return _shifted(face)
        case _:
            found = _DIGITS.fullmatch(text)
            assert found is not None
            return _clock(int(found[1]), (found[2] or "") + (found[3] or ""), found[4] or "", sure=text.startswith("0"))


def _number(text: str) -> int:
    return NUMBERS[text] if text in NUMBERS else int(text)


def _clock(hour: int, minutes: str, half: str, *, sure: bool) -> Clock:
    said = f"{hour}:{minutes[:2]}" if minutes else f"{hour}"
    if half and not 1 <= hour <= 12:
        plain = f'"{hour - 12}{minutes and ":" + minutes}{half}" or "{hour}:{minutes or "00"}"'
        hint = f"Say {plain}." if half == "pm" and 12 < hour < 24 else 'Say "5pm" or "17:00".'
        raise BadTrigger(f"{said} {half} is not a time of day", hint)
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23:
        raise BadTrigger(f"{said} is not a time of day", _HOURS)
    sure = sure or bool(half) or hour > 12 or (hour == 12 and bool(minutes))
    return Clock(hour * _HOUR + _past_hour(minutes), open=not sure, of_12=bool(half))


def _past_hour(minutes: str) -> timedelta:
    try:
        moment = time.fromisoformat(f"00:{minutes or '00'}")
    except ValueError:
        raise BadTrigger(f"There is no minute {minutes}", 'Minutes run from 00 to 59, as in "9:30".') from None
    return timedelta(minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond)


def _shifted(face: Node) -> Clock:
    """`half past nine`, `quarter to 9`, `ten past 9pm`."""
    number = face.token("SMALL", "NUMBER_WORD")
    minutes = _number(number.text) if number else 30 if face.token("HALF") else 15
    hour = _face(next(each for each in face.parts if isinstance(each, Node)))
    if not 0 < minutes < 60 or hour.since_midnight % _HOUR:
        raise Unread(f"Can't read {minutes} minutes past or to an hour", 'Say it as in "at 9:50".')
    before = face.token("TO", "BEFORE") is not None
    shift = timedelta(minutes=-minutes if before else minutes)
    if hour.open and hour.hour == 12:
        # A quarter to twelve is 11:45, a quarter past twelve 12:15: open, unlike a plain 12:15.
        return Clock(_NOON + shift if before else shift, open=True)
    return Clock((hour.since_midnight + shift) % _DAY, hour.open, of_12=hour.of_12)


def hours_or_minutes(node: Node) -> Window | None:
    """`9 to 17` as hours, which may also be minutes to an hour, as `ten to nine` is; None if it can't be hours."""
    face = node.node("past_or_to")
    if face is None or face.token("TO") is None or face.token("MINUTES") or face.token("SMALL", "NUMBER_WORD") is None:
        return None
    first = _face(Node("hour", (face.tokens("SMALL", "NUMBER_WORD")[0],)))
    return Window(first, _face(next(each for each in face.parts if isinstance(each, Node))), through=False)


def is_minutes(node: Node) -> bool:
    """Whether `ten to nine` may be minutes: nobody says `9 to 17` for 16:51."""
    face = node.node("past_or_to")
    number = None if face is None else face.token("SMALL")
    return number is None or number.text in ("5", "10", "20", "25")


def resolve(clocks: list[Clock]) -> list[Clock]:
    """Take open times for what they say if another one is plainly on a 24-hour clock: `at 9 and 17`."""
    if any(
        not (each.open or each.midnight or each.part or each.soft or each.of_12) and each.hour > 12 for each in clocks
    ):
        return [replace(each, open=False) for each in clocks]
    open_twice = [each.open and _is_repeated(clocks, at) for at, each in enumerate(clocks)]
    return [
        replace(each, shares_pm=True) if open_twice[at] or _may_share(clocks, at) else each
        for at, each in enumerate(clocks)
    ]


def _is_repeated(clocks: list[Clock], at: int) -> bool:
    """Whether another time reads the same: in `8 and 8` one of them is in the evening."""
    others = (each for place, each in enumerate(clocks) if place != at)
    return any(each.since_midnight == clocks[at].since_midnight and not each.part for each in others)


def _may_share(clocks: list[Clock], at: int) -> bool:
    """Whether the pm of another time may hold for this one: in `7 and 9 pm`, not in `9 and 5 pm`, which goes on."""
    said = clocks[at]
    others = [(place - at, each.hour - 12) for place, each in enumerate(clocks) if each.of_12 and each.hour > 12]
    return said.open and any((hour > said.hour) == (after > 0) for after, hour in others if hour != said.hour)


def choices(said: Clock, part: Part, *, names_day: bool) -> tuple[timedelta, ...]:
    """Return the times a clock may mean, from the beginning of its day; after 24:00 is the next day."""
    part = said.part or part
    if said.or_before:
        earlier = replace(said, or_before=False, since_midnight=(said.since_midnight - _HOUR) % _DAY)
        both = (replace(said, or_before=False), earlier)
        return tuple(time for each in both for time in choices(each, part, names_day=names_day))
    if part:
        return _in_part(said, part)
    if said.midnight:
        return (timedelta(0), _DAY)
    if not said.open:
        return (said.since_midnight,)
    if said.hour == 12 or said.hour == 0:
        within = said.since_midnight % _HOUR
        return (_NOON + within, within, _DAY + within)
    # With a day, 7 to 11 is the morning; "on Friday at 5" may be either.
    if names_day and said.hour >= 7 and not said.shares_pm:
        return (said.since_midnight,)
    return (said.since_midnight, said.since_midnight + _NOON)


def _in_part(said: Clock, part: Part) -> tuple[timedelta, ...]:
    hour = said.hour
    times = (said.since_midnight, said.since_midnight + _NOON, said.since_midnight + _DAY)
    if said.midnight:
        times = (timedelta(0), _DAY)
    elif not said.open:
        times = (said.since_midnight, said.since_midnight + _DAY)
    elif hour == 12 and part == "morning":
        return (said.since_midnight % _HOUR, said.since_midnight)  # who says so may mean either
    elif hour == 12:
        times = (said.since_midnight % _HOUR, said.since_midnight, said.since_midnight + _NOON)
    found = tuple(each for each in times if each // _HOUR in _PART_HOURS[part])
    if found:
        return found[:1]
    where = "at night" if part == "night" else f"in the {part}"
    raise BadTrigger(f"{spell(said.since_midnight)} is not {where}", 'Say "9am", "5pm" or "17:00".')


def windows(said: Window) -> list[tuple[timedelta, timedelta]]:
    """Return the stretches of the day a window may mean; one that ends before it begins goes on overnight."""
    start, end = resolve([said.start, said.end])
    starts = [each for each in choices(start, "", names_day=True) if each < _DAY]
    ends = choices(end, "", names_day=True)
    pairs = [(first, final) for first, final in product(starts, ends) if first < final]
    if not pairs:
        return [_turned(start, starts[0], end, ends[0])]
    shortest = {first: min(final for begun, final in pairs if begun == first) for first, _ in pairs}
    if not start.shares_pm or start.hour < 7:
        shortest = {first: final for first, final in shortest.items() if final - first <= _NOON} or shortest
    return list(shortest.items())


def _turned(start: Clock, first: timedelta, end: Clock, final: timedelta) -> tuple[timedelta, timedelta]:
    """`9 to 9` and `7am to 7` end in the evening, `7 to 7am` begins in it; `9am to 9am` is all day long."""
    if first == final and end.open:
        return first, final + _NOON
    return (first + _NOON, final) if first == final and start.open else (first, final)


def spell(since_midnight: timedelta) -> str:
    """Return a time of day as `09:00`, with seconds only if there are any."""
    seconds, fraction = divmod(since_midnight % _DAY, timedelta(seconds=1))
    moment = time(seconds // 3600, seconds // 60 % 60, seconds % 60, fraction // timedelta(microseconds=1))
    return moment.isoformat("auto") if seconds % 60 or fraction else moment.isoformat("minutes")
