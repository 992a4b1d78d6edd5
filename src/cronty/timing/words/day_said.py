"""A day, or several, in words: `tomorrow`, `next Friday`, `3 May`, `next week`, `June 2027`, `yesterday`."""

from datetime import date, datetime, timedelta
from typing import Final

from cronty.timing.errors import BadTrigger, Candidate, Unclear
from cronty.timing.localtime import as_utc
from cronty.timing.words.bounds import days_of, span_of
from cronty.timing.words.days import point_of
from cronty.timing.words.engine import Unreadable
from cronty.timing.words.meaning import Scene
from cronty.timing.words.once import date_text
from cronty.timing.words.tokens import grammar, lowered, tidy
from cronty.timing.zones import zone

_DAY: Final = timedelta(days=1)
_LONGEST: Final = 60


def days_said(text: str, now: datetime, zone_name: str) -> tuple[date, date] | None:
    """The first and the last of the days that are named; None if it is something else, such as a time.

    Raises `Unclear` for what may be several days: `Friday`, said on a Friday, or `03/04`.
    """
    if len(text) > _LONGEST:
        return None  # no day takes so many words
    scene = Scene(as_utc(now), zone(zone_name).key)
    try:
        plain = lowered(tidy(text)).removeprefix("on ")
        if plain == "yesterday":
            return scene.today - _DAY, scene.today - _DAY
        point = point_of(grammar().parse("point", grammar().tokens(plain)), text)
        if point.unit or point.month:
            return span_of(point, scene)
        found = days_of(point, scene, text, start=True)
    except (Unreadable, BadTrigger):
        return None
    if len(found) == 1:
        return found[0], found[0]
    candidates = tuple(Candidate(each.isoformat(), date_text(each), None) for each in found)
    listed = "; or: ".join(f'"{each.words}" ({each.description})' for each in candidates)
    raise Unclear(f'"{text}" may mean: {listed}', "Repeat the call with one of these dates.", candidates)
