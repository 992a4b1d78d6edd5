"""The zone that may be named at the end: a zone name, or a city of one followed by "time"."""

from functools import cache, lru_cache
from typing import Final
from zoneinfo import available_timezones

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.vocabulary import is_known
from cronty.timing.zones import zone

_MOST_WORDS: Final = 4
# They name an offset that holds for half of the year; `zone` says what to use instead.
_ABBREVIATIONS: Final = frozenset(
    (
        *("est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "hst", "bst", "cest", "eest", "msk", "ist", "jst"),
        *("aest", "aedt", "gmt", "cet", "eet", "wet"),
    )
)


def place(zone_name: str) -> str:
    """Return a zone the way people say it: `Berlin time`, `UTC`, or the whole name if the city alone won't do."""
    if zone_name == "UTC":
        return "UTC"
    city = zone_name.rpartition("/")[2]
    return f"{city.replace('_', ' ')} time" if zones_of(city.lower()) == (zone_name,) else zone_name


def split_zone(text: str, zone_name: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without the zone at its end, and the zones it may mean; `zone_name` if it names none."""
    home = (zone(zone_name).key,)
    words = text.rstrip(".!?;, ").split(" ")
    if words[-1].lower() == "time":
        return _named_time(words[:-1], home)
    final = words[-1].strip("(),")
    if final.lower() == "utc" or ("/" in final and final.replace("/", "").replace("_", "").replace("-", "").isalpha()):
        return _rest(words[:-1]), (zone(_spelled(final)).key,)
    if final.lower() in _ABBREVIATIONS and len(words) > 1:
        return _rest(words[:-1]), (zone(final.upper()).key,)
    for count in range(min(_MOST_WORDS, len(words) - 2), 0, -1):
        if words[-count - 1].lower() == "in" and (found := zones_of("_".join(words[-count:]).lower())):
            return _rest(words[: -count - 1]), found
    return text, home


def _named_time(words: list[str], home: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The word "time" must have a zone before it."""
    if words and words[-1].lower() in ("local", "my", "our"):
        return _rest(words[:-1]), home
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        if found := zones_of("_".join(words[-count:]).lower().strip("(),")):
            return _rest(words[:-count]), found
    name = _unknown(words)
    rest = _rest(words[: -len(name.split())])
    return rest, (zone(name.upper() if name.lower() in _ABBREVIATIONS else _spelled(name)).key,)


def _unknown(words: list[str]) -> str:
    """The words before "time" that can't be anything else than the name of a zone."""
    count = 1
    while (
        count < min(_MOST_WORDS, len(words)) and words[-count - 1].isalpha() and not is_known(words[-count - 1].lower())
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
