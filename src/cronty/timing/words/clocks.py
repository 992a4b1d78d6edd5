"""Times of day: how they are said, and which ones they may mean."""

from dataclasses import replace
from datetime import time, timedelta
from itertools import product
from typing import Final, cast

from cronty.timing.errors import BadTrigger
from cronty.timing.words.said import Clock, Part, Window
from cronty.timing.words.tokens import Cursor
from cronty.timing.words.vocabulary import NUMBERS, PARTS, UNITS

_HOURS: Final = 'Hours run from 0 to 23; the end of a day is "00:00" of the next one.'
_HOUR: Final = timedelta(hours=1)
_NOON: Final = timedelta(hours=12)
_DAY: Final = timedelta(hours=24)
# Hours that a part of the day can mean, said on a 24-hour clock; night goes on after midnight.
_PART_HOURS: Final = {
    "morning": range(12),
    "afternoon": range(12, 19),
    "evening": range(16, 24),
    "night": range(18, 30),
}


def clock(cursor: Cursor, *, bare: bool = False) -> Clock | None:
    """Take one time of day, and the part of the day if that is said with it; no `quarter to 9` if it is `bare`."""
    start = cursor.at
    for form in (_named, _plain) if bare else (_past_or_to, _named, _plain):
        if (found := form(cursor)) is not None:
            part = _part(cursor)
            return replace(found, part=part) if part else found
        cursor.at = start
    return None


def clock_list(cursor: Cursor) -> list[Clock]:
    """Take `9`, `9 and 17`, `9am, noon and 5pm`."""
    found: list[Clock] = []
    start = cursor.at
    if cursor.take_any("at", "by"):
        _check_hour(cursor)
    while (one := clock(cursor)) is not None:
        found.append(one)
        start = cursor.at
        cursor.take_link()
        cursor.take("at")
        if cursor.at == start:
            break
    cursor.at = start
    return found


def _check_hour(cursor: Cursor) -> None:
    number, following = cursor.peek(), cursor.peek(1)
    alone = following is None or (following.kind == "word" and following.text not in UNITS and following.text != "past")
    if number is not None and number.kind == "number" and alone and len(number.text) <= 3 and int(number.text) > 23:
        raise BadTrigger(f"{number.text} is not a time of day", _HOURS)


def window(cursor: Cursor, *, often: bool) -> Window | None:
    """Take `between 9 and 17`, `from 9:00 to 17:00`, `from 09:00 through 16:45`, `9-17`; `9 to 17` only if `often`."""
    start = cursor.at
    lead = cursor.take_any("between", "from")
    first = clock(cursor, bare=True)
    links = ("and",) if lead == "between" else ("to", "until", "till", "through", "-") if lead or often else ("-",)
    link = cursor.take_any(*links) if first is not None else ""
    final = clock(cursor, bare=True) if link else None
    if first is None or final is None:
        cursor.at = start
        return None
    return Window(first, final, link == "through")


def _part(cursor: Cursor) -> Part:
    """Take `in the morning`, `at night`."""
    if cursor.take("at", "night"):
        return "night"
    if cursor.word() == "in" and cursor.word(1) == "the" and cursor.word(2) in PARTS:
        cursor.at += 3
        return cast("Part", cursor.word(-1))
    return ""


def _named(cursor: Cursor) -> Clock | None:
    if cursor.word(1) in ("noon", "midday", "midnight"):
        cursor.take("12")
    word = cursor.take_any("noon", "midday", "midnight")
    if not word:
        return None
    return Clock(timedelta(0), midnight=True) if word == "midnight" else Clock(_NOON)


def _past_or_to(cursor: Cursor) -> Clock | None:
    """Take `half past nine`, `quarter to 9`, `ten past 9pm`."""
    if cursor.word(1) == "quarter":
        cursor.take("a")
    minutes = _small(cursor, {"half": 30, "quarter": 15, **NUMBERS})
    cursor.take_any("minute", "minutes")
    link = cursor.take_any("past", "to")
    if minutes is None or not link or not 0 < minutes < 60:
        return None
    hour = _plain(cursor)
    if hour is None or hour.since_midnight % _HOUR:
        return None
    shift = timedelta(minutes=minutes if link == "past" else -minutes)
    if hour.open and hour.hour == 12:
        # A quarter to twelve is 11:45, a quarter past twelve 12:15: open, unlike a plain 12:15.
        return Clock(_NOON + shift if link == "to" else shift, open=True)
    return Clock((hour.since_midnight + shift) % _DAY, hour.open)


def _small(cursor: Cursor, words: dict[str, int]) -> int | None:
    if cursor.word() in words:
        cursor.at += 1
        return words[cursor.word(-1)]
    digits = cursor.digits()
    return int(digits) if digits and len(digits) <= 2 else None


def _plain(cursor: Cursor) -> Clock | None:
    """Take `9`, `9:30`, `09:00:00`, `9.30`, `9am`, `nine o'clock`."""
    following = cursor.peek()
    digits = following.text if following is not None and following.kind == "number" else ""
    hour = _small(cursor, NUMBERS)
    if hour is None:
        return None
    minutes = _minutes(cursor) if digits else None
    if cursor.word() in UNITS or cursor.word() in ("st", "nd", "rd", "th"):
        return None
    half = cursor.take_any("am", "pm")
    cursor.take("oclock")
    half = half or cursor.take_any("am", "pm")
    said = f"{hour}:{minutes.minute:02}" if minutes is not None else f"{hour}"
    if half:
        if not 1 <= hour <= 12:
            raise BadTrigger(f"{said} {half} is not a time of day", 'Say "5pm" or "17:00".')
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif hour > 23 and minutes is None:
        return None
    elif hour > 23:
        raise BadTrigger(f"{said} is not a time of day", _HOURS)
    past_hour = timedelta(0) if minutes is None else _length(minutes)
    sure = half or hour > 12 or digits.startswith("0") or (hour == 12 and minutes is not None)
    return Clock(hour * _HOUR + past_hour, open=not sure)


def _length(moment: time) -> timedelta:
    return timedelta(minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond)


def _minutes(cursor: Cursor) -> time | None:
    """Take what follows the hour: `:30`, `.30`, `:30:15`, `:30:15.25`; None if nothing does."""
    start = cursor.at
    mark = ":" if cursor.take_mark(":") else "." if cursor.take_mark(".") else ""
    digits = cursor.digits(glued=True) if mark else ""
    if len(digits) != 2 or (mark == "." and _dotted(cursor)):
        cursor.at = start
        return None
    text = f"00:{digits}"
    if mark == ":" and cursor.take_mark(":"):
        text += f":{cursor.digits(glued=True)}"
        following, after = cursor.peek(), cursor.peek(1)
        if following is not None and following.text == "." and after is not None and after.glued:
            cursor.at += 1
            text += f".{cursor.digits(glued=True)}"
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise BadTrigger(f"There is no minute {text[3:]}", 'Minutes run from 00 to 59, as in "9:30".') from None


def _dotted(cursor: Cursor) -> bool:
    following = cursor.peek()
    return following is not None and following.text == "." and following.glued


def settle(clocks: list[Clock]) -> list[Clock]:
    """Take open times for what they say if another one is plainly on a 24-hour clock: `at 9 and 17`."""
    if any(not each.open and not each.midnight and each.hour > 12 and not each.part for each in clocks):
        return [Clock(each.since_midnight, part=each.part) if each.open else each for each in clocks]
    return clocks


def choices(said: Clock, part: Part, *, names_day: bool) -> tuple[timedelta, ...]:
    """Return the times a clock may mean, from the beginning of its day; after 24:00 is the next day."""
    part = said.part or part
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
    if names_day and said.hour >= 7:
        return (said.since_midnight,)
    return (said.since_midnight, said.since_midnight + _NOON)


def _in_part(said: Clock, part: Part) -> tuple[timedelta, ...]:
    hour = said.hour
    times = (said.since_midnight, said.since_midnight + _NOON, said.since_midnight + _DAY)
    if said.midnight:
        times = (timedelta(0), _DAY)
    elif not said.open:
        times = (said.since_midnight, said.since_midnight + _DAY)
    elif hour == 12:
        times = (said.since_midnight % _HOUR, said.since_midnight, said.since_midnight + _NOON)
    found = tuple(each for each in times if each // _HOUR in _PART_HOURS[part])
    if found:
        return found[:1]
    where = "at night" if part == "night" else f"in the {part}"
    raise BadTrigger(f"{spell(said.since_midnight)} is not {where}", 'Say "9am", "5pm" or "17:00".')


def windows(said: Window) -> list[tuple[timedelta, timedelta]]:
    """Return the stretches of the day a window may mean; one that ends before it begins goes on overnight."""
    start, end = settle([said.start, said.end])
    starts = [each for each in choices(start, "", names_day=True) if each < _DAY]
    ends = choices(end, "", names_day=True)
    pairs = [(first, final) for first, final in product(starts, ends) if first < final]
    if not pairs:
        return [(starts[0], ends[0])]
    shortest = {first: min(final for begun, final in pairs if begun == first) for first, _ in pairs}
    shortest = {first: final for first, final in shortest.items() if final - first <= _NOON} or shortest
    return list(shortest.items())


def spell(since_midnight: timedelta) -> str:
    """Return a time of day as `09:00`, with seconds only if there are any."""
    seconds, fraction = divmod(since_midnight % _DAY, timedelta(seconds=1))
    moment = time(seconds // 3600, seconds // 60 % 60, seconds % 60, fraction // timedelta(microseconds=1))
    return moment.isoformat("auto") if seconds % 60 or fraction else moment.isoformat("minutes")
