"""The zone that may be named: a zone name anywhere, or at the end a city of one followed by "time"."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import cache, lru_cache
from typing import Final
from zoneinfo import available_timezones

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.tokens import is_known
from cronty.timing.zones import zone

_MAX_WORDS: Final = 4
# They name an offset that holds for half of the year, or are used of several; `zone` says what to use instead.
_ABBREVIATIONS: Final = frozenset(("hst", "msk", "ist", "jst", "aest", "aedt"))
_CENTRAL: Final = ("Europe/Berlin", "Europe/Madrid", "Europe/Paris", "Europe/Rome", "Europe/Warsaw")
_EASTERN: Final = ("Europe/Athens", "Europe/Bucharest", "Europe/Helsinki", "Europe/Kyiv")
# Clocks of many cities; people mean that of their own.
_SHARED: Final = {
    **dict.fromkeys(("cet", "cest", "met"), _CENTRAL),
    **dict.fromkeys(("eet", "eest"), _EASTERN),
    **dict.fromkeys(("wet", "west"), ("Europe/Lisbon", "Atlantic/Canary")),
    **dict.fromkeys(("et", "est", "edt", "eastern"), ("America/New_York", "America/Toronto")),
    **dict.fromkeys(("ct", "cdt", "central"), ("America/Chicago", "America/Winnipeg")),
    "cst": ("America/Chicago", "America/Winnipeg", "Asia/Shanghai"),
    **dict.fromkeys(("mt", "mdt", "mountain"), ("America/Denver", "America/Edmonton")),
    "mst": ("America/Denver", "America/Edmonton", "America/Phoenix"),
    **dict.fromkeys(("pt", "pst", "pdt", "pacific"), ("America/Los_Angeles", "America/Vancouver")),
    "gmt": ("UTC", "Europe/London"),
    "bst": ("Europe/London",),
}


# Cities as people say them before "time".
_CITIES: Final = {
    **dict.fromkeys(("ny", "nyc"), ("America/New_York",)),
    **dict.fromkeys(("la", "sf", "san_francisco", "seattle"), ("America/Los_Angeles",)),
    **dict.fromkeys(("uk", "british"), ("Europe/London",)),
}
# Those that say whether it is summer: hours ahead of UTC.
_AHEAD: Final = {"cet": 1, "met": 1, "cest": 2, "eet": 2, "eest": 3, "wet": 0, "west": 1, "gmt": 0, "bst": 1} | {
    "est": -5,
    "edt": -4,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
}
_OF_US: Final = {
    "eastern": "America/New_York",
    "central": "America/Chicago",
    "mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
}
# Before "time" they say that it isn't a place: "at dinner time", "at the same time".
_NOT_A_PLACE: Final = ("at", "during", "the", "of", "by", "some", "any", "this", "next", "every", "each")
_WRITTEN: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (
        re.compile(r"\b(minutes?|hours?|days?|weeks?|months?|years?)(?:'s?)? time\b", re.IGNORECASE),
        r"\1",
    ),  # in a week's time
    (re.compile(r"\(([A-Za-z_/ ]+ time)\)", re.IGNORECASE), r"\1"),
    (re.compile(r"(?<![\dT:])(?<!\d{4}-\d\d-\d\d )(\d\d?:\d\d(?::\d\d)?)Z\b", re.IGNORECASE), r"\1 UTC"),
    (
        re.compile(r"\b(?:US|U\.S\.)[ /](Eastern|Central|Mountain|Pacific)( time)?\b", re.IGNORECASE),
        lambda found: _OF_US[found[1].lower()],
    ),
    (
        re.compile(r"\b(Eastern|Central|Mountain|Pacific) (Standard|Daylight) time\b", re.IGNORECASE),
        lambda found: f"{found[1][0]}{found[2][0]}T".upper(),
    ),
)


def offset_said(text: str) -> timedelta | None:
    """The offset that a clock shared by many cities says with its name: CEST is summer, PT says nothing."""
    names = (word.strip("(),").lower() for word in text.split())
    return next((timedelta(hours=_AHEAD[name]) for name in names if name in _AHEAD), None)


def place(zone_name: str) -> str:
    """Return a zone the way people say it: `Berlin time`, `UTC`, or the whole name if the city alone won't do."""
    if zone_name == "UTC":
        return "UTC"
    city = zone_name.rpartition("/")[2]
    return f"{city.replace('_', ' ')} time" if zones_of(city.lower()) == (zone_name,) else zone_name


def names_zone(word: str) -> bool:
    """Whether a word names a clock by itself and can't be the code of a country: `UTC`, `CEST`."""
    lower = word.lower()
    return lower == "utc" or (len(lower) > 2 and (lower in _SHARED or lower in _ABBREVIATIONS))


def split_zone(text: str, zone_name: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without the zone at its end, and the zones it may mean; `zone_name` if it names none."""
    home = (zone(zone_name).key,)
    for shape, said in _WRITTEN:
        text = shape.sub(said, text)
    words = text.rstrip(".!?;, ").split(" ")
    if words[-1].lower() == "time" and not (words[-2:-1] and words[-2].isdigit()):  # "1 time" is how often
        return _named_time(words[:-1], home) or (text, home)
    if "time" in (lower := [each.lower() for each in words[:-1]]):
        end = lower.index("time")
        if lower[end - 1 : end] in (["local"], ["my"], ["our"]):
            return _rest([*words[: end - 1], *words[end + 1 :]]), home
        for count in range(min(_MAX_WORDS, end), 0, -1):
            if found := _said("_".join(lower[end - count : end]).strip("(),")):
                return _rest([*words[: end - count], *words[end + 1 :]]), _own(found, home)
    for place in range(len(words) - 1, -1, -1):
        if found := _zone_word(words[place], final=place == len(words) - 1):
            return _rest(words[:place] + words[place + 1 :]), _own(found, home)
    for count in range(min(_MAX_WORDS, len(words) - 2), 0, -1):
        if words[-count - 1].lower() == "in" and (found := zones_of("_".join(words[-count:]).lower())):
            return _rest(words[: -count - 1]), _own(found, home)
    return text, home


def _own(found: tuple[str, ...], home: tuple[str, ...]) -> tuple[str, ...]:
    """Who lives by one of the clocks that are meant means that one."""
    return home if home[0] in found else found


def _said(name: str) -> tuple[str, ...]:
    return _SHARED.get(name) or _CITIES.get(name) or zones_of(name)


def _zone_word(word: str, *, final: bool) -> tuple[str, ...]:
    """The zones that a word names by itself; none if it is another word."""
    name = word.strip("(),")
    if name.lower() in _SHARED:
        return _SHARED[name.lower()]
    if name.lower() == "utc":
        return ("UTC",)
    parts = name.split("/")
    if len(parts) > 1 and name.replace("/", "").replace("_", "").replace("-", "").isalpha():
        known = any(is_known(each.lower()) for each in parts)
        return (
            ()
            if known or not (final or _spelled(name) != name or zones_of(name.lower()))
            else (zone(_spelled(name)).key,)
        )
    if name.lower() in _ABBREVIATIONS:
        return (zone(name.upper()).key,)
    return ()


def _named_time(words: list[str], home: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """The word "time" must have a zone before it; None if that is plainly something else."""
    if words and words[-1].lower() in ("local", "my", "our"):
        return _rest(words[:-1]), home
    if words and words[-1].lower() == "same":
        return None
    for count in range(min(_MAX_WORDS, len(words)), 0, -1):
        if found := _said("_".join(words[-count:]).lower().strip("(),")):
            return _rest(words[:-count]), _own(found, home)
    name = _unknown(words)
    before = words[-len(name.split()) - 1 :][0].lower() if len(words) > len(name.split()) else ""
    if before in _NOT_A_PLACE or (before == "in" and name.islower()):
        return None
    rest = _rest(words[: -len(name.split())])
    return rest, (zone(name.upper() if name.lower() in _ABBREVIATIONS else _spelled(name)).key,)


def _unknown(words: list[str]) -> str:
    """The words before "time" that can't be anything else than the name of a zone."""
    count = 1
    while (
        count < min(_MAX_WORDS, len(words)) and words[-count - 1].isalpha() and not is_known(words[-count - 1].lower())
    ):
        count += 1
    return " ".join(words[-count:]).strip("(),") or "time"


def _rest(words: list[str]) -> str:
    """What is said before the zone."""
    text = " ".join(words).rstrip(" ,(")
    if not text:
        raise Unread("Can't read a time zone alone", 'Say the time before it, as in "tomorrow at 9:00 Berlin time".')
    return text


@cache
def _by_city() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(available_timezones()):
        for spelling in {name.lower(), name.rpartition("/")[2].lower()}:
            found[spelling] = (*found.get(spelling, ()), name)
    return found


@lru_cache(maxsize=1024)
def zones_of(city: str) -> tuple[str, ...]:
    """Return the zones with this name, or whose last part is this city (`new_york`); none if it isn't known."""
    found: dict[str, None] = {}
    for name in _by_city().get(city, ()):
        try:
            found[zone(name).key] = None
        except BadTrigger:
            continue
    return tuple(found)


def _spelled(name: str) -> str:
    """Return a zone name with the capitals of the database; unchanged if it has no such zone."""
    return next((each for each in _by_city().get(name.lower(), ()) if each.lower() == name.lower()), name)
