"""Zone names and the pinned zone database.

Importing this module takes the system's zone files out of `zoneinfo` for the whole process: they differ from
machine to machine, and two workers that disagree about an hour fire a job twice or never.
"""

import re
import zoneinfo
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from zoneinfo import ZoneInfo

import tzdata

from cronty.timing.errors import BadTrigger
from cronty.timing.near import near

zoneinfo.reset_tzpath(to=())
ZoneInfo.clear_cache()

_REGION = 'Use a region name such as "Europe/Berlin" or "America/New_York", or "UTC".'
_FIXED = re.compile(
    r"(?:UTC|GMT|Z)?\s*[+\-\u2212]\s*\d{1,2}(?::?\d{2}){0,2}|GMT0?|Z|Etc/GMT.*|Etc/Greenwich|Greenwich",
    re.IGNORECASE,
)
# What people who write the abbreviation most likely mean. None of these names knows about daylight saving
# time.
_ABBREVIATIONS = {
    "EST": "America/New_York",
    "EDT": "America/New_York",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "MST": "America/Denver",
    "MDT": "America/Denver",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "HST": "Pacific/Honolulu",
    "BST": "Europe/London",
    "CEST": "Europe/Berlin",
    "EEST": "Europe/Athens",
    "MSK": "Europe/Moscow",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "AEST": "Australia/Sydney",
    "AEDT": "Australia/Sydney",
}
_UTC_NAMES = frozenset({"UTC", "UCT", "Zulu", "Universal", "Etc/UTC", "Etc/UCT", "Etc/Zulu", "Etc/Universal"})
_TEXT_LIMIT = 64


def tzdata_version() -> str:
    """Return the IANA version of the zone database in use, such as `2026f`."""
    return tzdata.IANA_VERSION


@cache
def zone_rules(name: str) -> str:
    """A digest of what the zone database says about a zone: where it is the same, so is every slot."""
    return sha256((files(tzdata) / "zoneinfo" / name).read_bytes()).hexdigest()[:16]


@cache
def _names() -> frozenset[str]:
    return frozenset((files(tzdata) / "zones").read_text(encoding="utf-8").split()) - {"Factory"}


@cache
def _canonical_names() -> dict[str, str]:
    """Map old spellings (`Asia/Calcutta`, `US/Eastern`) to the name in use.

    The database also links cities that merely share a history today (`Europe/Stockholm` to `Europe/Berlin`).
    Those are names people live by and may part again, so names that a country lists as its own stay.
    """
    folder = files(tzdata) / "zoneinfo"
    rows = [line.split("\t") for line in (folder / "zone.tab").read_text(encoding="utf-8").splitlines()]
    own = {row[2] for row in rows if not row[0].startswith("#")}
    lines = (folder / "tzdata.zi").read_text(encoding="utf-8").splitlines()
    links = {old: new for _, new, old in (line.split() for line in lines if line.startswith("L "))}
    canonical = dict.fromkeys(_UTC_NAMES, "UTC")
    for old in links.keys() - own - _UTC_NAMES:
        new = links[old]
        while new in links and new not in own:
            new = links[new]
        canonical[old] = new
    return canonical


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """Return the zone of that name; its `key` is the canonical name (`Asia/Calcutta` gives `Asia/Kolkata`).

    Fixed offsets and abbreviations are refused even where the database knows them: they have no daylight
    saving time, which is hardly ever what was meant.
    """
    if name not in _names() or name.upper() in _ABBREVIATIONS or _FIXED.fullmatch(name):
        shown = name if len(name) <= _TEXT_LIMIT else name[:_TEXT_LIMIT] + "…"
        raise BadTrigger(f"Unknown time zone: {shown}", _hint(name))
    return ZoneInfo(_canonical_names().get(name, name))


def _hint(name: str) -> str:
    if name.strip().upper() == "GMT":
        return f'Did you mean "UTC", or "Europe/London"? {_REGION}'
    if meant := _ABBREVIATIONS.get(name.strip().upper()):
        return f'It is an abbreviation; did you mean "{meant}"? {_REGION}'
    if len(name) <= _TEXT_LIMIT and _FIXED.fullmatch(name.strip()):
        return f"It is a fixed offset, without daylight saving time. {_REGION}"
    if meant := _near(name[:_TEXT_LIMIT]):
        choices = ", ".join(f'"{each}"' for each in meant)
        return f"Did you mean {choices}? {_REGION}"
    return _REGION


def _near(name: str) -> list[str]:
    wanted = re.sub(r"\s+", "_", name.strip().lower())
    city = wanted.rpartition("/")[2]
    exact = [each for each in _listed() if wanted == each.lower()] or _cities().get(city, [])
    if exact:
        return _distinct(exact)
    return _distinct([name for each in near(city, _cities(), 3) for name in _cities()[each]])


def zone_names() -> list[str]:
    """Return the canonical name of every zone that is accepted, sorted."""
    return sorted({_canonical_names().get(each, each) for each in _listed()} | {"UTC"})


@cache
def _listed() -> list[str]:
    return sorted(each for each in _names() if not _FIXED.fullmatch(each) and each not in _ABBREVIATIONS)


@cache
def _cities() -> dict[str, list[str]]:
    """Names by their last part: "Berln" is far from "europe/berlin", and near to that."""
    found: dict[str, list[str]] = {}
    for each in _listed():
        found.setdefault(each.rpartition("/")[2].lower(), []).append(each)
    return found


def _distinct(names: list[str]) -> list[str]:
    canonical = _canonical_names()
    return list(dict.fromkeys(canonical.get(each, each) for each in names))[:3]
