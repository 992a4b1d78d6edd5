"""Lists of days off in words: "every weekday at 9:00 except holidays in Germany", "… unless DE-BY".

They are looked for by their words, one after the other, so that a long text takes no longer than a short one per word.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.country_names import KNOWN_NAMES
from cronty.timing.cron import Cron
from cronty.timing.cron_rules import as_calendar
from cronty.timing.errors import Unread
from cronty.timing.trigger import Trigger
from cronty.timing.words.places import names_zone
from cronty.timing.words.tokens import LONGEST
from cronty.timing.words.vocabulary import MONTHS, ORDINALS, WEEKDAY_NAMES, WEEKDAYS, WEEKDAYS_PLURAL, listed

# The words of a schedule with the names of its lists; what is longer is refused as words.
_LONGEST: Final = 2 * LONGEST
_MAX_WORDS: Final = 4
_WORD: Final = re.compile(r"[A-Za-z0-9](?:[\w'/:+.-]*[\w])?|\S")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
_CODE: Final = re.compile(r"[A-Z]{2}(?:-[A-Z0-9]{1,3})?|[a-z]{2}-[a-z0-9]{1,3}")
_LEFT_OUT: Final = (
    *(("but", "not"), ("not", "on"), ("apart", "from"), ("other", "than")),
    *((each,) for each in ("except", "excluding", "unless", "skipping", "skip", "not", "without", "but")),
)
_LEAVE_OUT: Final = frozenset(said[0] for said in _LEFT_OUT)
_KINDS: Final = ("public", "bank", "national", "federal", "official", "legal", "state", "statutory")
_FILLERS: Final = ("it's", "it", "is", "on", "for", "a", "an", "any", "all", "the", *_KINDS)
_MARKS: Final = (",", ";", ".", "!", "?", ")")
# What another part of the sentence begins with.
_CLAUSES: Final = (
    *("at", "on", "until", "till", "through", "starting", "beginning", "from", "between", "for", "every", "each"),
    *("ending", "please", "thanks", "and", "or", "only", *(said[0] for said in _LEFT_OUT)),
)
_DAYS: Final = frozenset((*WEEKDAYS, *WEEKDAYS_PLURAL, "weekend", "weekends", "weekday", "weekdays"))
_DATE: Final = re.compile(r"\d+(?:st|nd|rd|th)|\d{4}-\d\d?-\d\d?|\d\d?[/.]\d\d?(?:[/.]\d+)?")
_NAMES_DAY: Final = re.compile(
    r"\b(?:days?|daily|(?:mon|tues|wednes|thurs|fri|satur|sun|week|work)days?|weekends?|\d+(?:st|nd|rd|th))\b"
)
_TIME: Final = re.compile(r"\b(?:at|noon|midnight)\b|\d ?[ap]m\b|\d:\d\d")
_WEEKDAY_CODES: Final = {name[:2].upper(): f"{name}s" for name in WEEKDAY_NAMES}
_WEEKDAYS_ONLY: Final = ("TU", "WE", "SU")
"""Codes of weekdays that aren't the codes of countries too, as FR is."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower()


type _Found = tuple[list[str], int]
type _Place = Callable[[list[_Word], int], int]
"""Of how many words a name is at a place of the text; 0 if there is none."""


def split_lists(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what is said without the lists of days off that are left out, and their names.

    Refused with `Unread` if a code may be that of a weekday.
    """
    if len(text) > _LONGEST:
        return text, ()
    text = " ".join(text.split())
    names: list[str] = []
    while (found := _first(text)) is not None:
        text, more = found
        names += more
    return text, tuple(names)


def said_lists(names: tuple[str, ...]) -> str:
    """Return the end of a sentence that leaves lists out; `split_lists` reads it."""
    return f", except on days off of {' and '.join(names)}" if names else ""


def without_lists(trigger: Trigger, names: tuple[str, ...], text: str, today: date) -> Trigger:
    """Return the trigger as a calendar that uses these lists."""
    calendar = as_calendar(trigger, today, by_days_off=True) if isinstance(trigger, Cron) else trigger
    if isinstance(calendar, Calendar):
        return replace(calendar, calendars=names)
    raise Unread(
        f'Can\'t leave days off out of "{text}"',
        'Say days and times, as in "every weekday at 9:00 except holidays in DE-BY".',
    )


def _first(text: str) -> tuple[str, list[str]] | None:
    """The text without the first lists that are left out, and their names."""
    words = [_Word(each[0], each.start(), each.end()) for each in _WORD.finditer(text)]
    leaving = [(at, many) for at in range(len(words)) if (many := _leaves_out(words, at))]
    for at, many in leaving:
        if (found := _lists(words, at + many)) is not None:
            return _cut(text, words, at, found)
    # "except Fridays and holidays in Germany": both are left out.
    for (at, many), (end, _) in pairwise([*leaving, (len(words), 0)]):
        if not _is_day(words, at + many):
            continue
        for link in range(at + many, end):
            if words[link].lower in (",", "and") and (found := _lists(words, _after_link(words, link))) is not None:
                return _cut(text, words, link, found)
    return None


def _leaves_out(words: list[_Word], at: int) -> int:
    """Of how many words "except" or the like is here; 0 if it isn't."""
    if words[at].lower not in _LEAVE_OUT:
        return 0
    for said in _LEFT_OUT:
        if tuple(each.lower for each in words[at : at + len(said)]) == said:
            return len(said)
    return 0


def _cut(text: str, words: list[_Word], at: int, found: _Found) -> tuple[str, list[str]]:
    names, end = found
    head = text[: words[at].start].rstrip(" ,")
    tail = text[words[end - 1].end :]
    link = _after_link(words, end)
    if link > end and _is_day(words, link):
        # "except holidays in Germany, Fridays": the Fridays are left out too; unless they are what it is about, as in
        # "every hour except holidays in Germany, weekdays", or have a time of their own.
        rest = text[words[link].start :]
        own = _TIME.search(head.lower()) and _TIME.search(rest.lower())
        if words[end].text != "," or (_NAMES_DAY.search(head.lower()) and not own):
            tail = f" except {rest}"
    return f"{head}{tail}".lstrip(" ,"), [each.upper() if _CODE.fullmatch(each) else each for each in names]


def _lists(words: list[_Word], at: int) -> _Found | None:
    """The names of lists that are said here, and where they end."""
    while at < len(words):
        if (found := _holidays_in(words, at) or _holidays_of(words, at) or _codes(words, at)) is not None:
            return found
        if words[at].lower not in _FILLERS:
            return None
        at += 1
    return None


def _holidays_in(words: list[_Word], at: int) -> _Found | None:
    """`holidays in Germany and the US`, `days off of team`."""
    at = _after_holidays(words, at)
    if not at or at >= len(words) or words[at].lower not in ("in", "of", "by", "for"):
        return None
    return _places(words, at + 1, _place)


def _holidays_of(words: list[_Word], at: int) -> _Found | None:
    """`German holidays`, `UK bank holidays`, `US and Canadian holidays`."""
    found = _places(words, at, _whose)
    if found is None:
        return None
    end = found[1]
    while end < len(words) and words[end].lower in _KINDS:
        end += 1
    after = _after_holidays(words, end)
    return (found[0], after) if after and _may_end(words, after) else None


def _codes(words: list[_Word], at: int) -> _Found | None:
    """Codes alone: `except DE-BY`, `unless DE and US`."""
    found = _places(words, at, _code)
    if found is None or not _may_end(words, found[1]):
        return None
    if all(name in _WEEKDAY_CODES for name in found[0]):
        days = listed([_WEEKDAY_CODES[name] for name in found[0]])
        codes = [name for name in found[0] if name not in _WEEKDAYS_ONLY]
        holidays = f' or "except holidays in {" and ".join(codes)}"' if len(codes) == len(found[0]) else ""
        what = "days of the week or countries" if len(found[0]) > 1 else "a day of the week or a country"
        raise Unread(f'"{" and ".join(found[0])}" may be {what}', f'Say "except {days}"{holidays}.')
    return found


def _after_holidays(words: list[_Word], at: int) -> int:
    """Where the word "holidays", or "days off", ends; 0 if it isn't here."""
    said = [each.lower for each in words[at : at + 2]]
    if said[:1] in (["holiday"], ["holidays"]):
        return at + 1
    return at + 2 if said in (["day", "off"], ["days", "off"]) else 0


def _places(words: list[_Word], at: int, one: _Place) -> _Found | None:
    """Names with commas or "and" between them; each may have its own "in"."""
    names: list[str] = []
    end = at
    while True:
        while one is not _code and at < len(words) and words[at].text in (("in", "the") if names else ("the",)):
            at += 1
        if not (many := (_next_place if names and one is _place else one)(words, at)):
            return (names, end) if names else None
        end = at + many
        names.append(" ".join(each.text for each in words[at:end]))
        if (at := _after_link(words, end)) == end:
            return names, end


def _place(words: list[_Word], at: int) -> int:
    """The name of a country, a region or a list; the longest that may end where it does."""
    for many in range(0 if _is_day(words, at) else min(_MAX_WORDS, len(words) - at), 0, -1):
        said = [each.text for each in words[at : at + many]]
        if (" ".join(said).lower() in KNOWN_NAMES or _is_name(said)) and _may_end(words, at + many):
            return many
    return 0


def _next_place(words: list[_Word], at: int) -> int:
    """Another name; what follows a comma may also be a zone, or another clause."""
    clause = at < len(words) and words[at].text in _CLAUSES
    return 0 if clause or _is_zone(words, at) else _place(words, at)


def _is_name(said: list[str]) -> bool:
    """Whether words that aren't known may be a name: `team`, `monday-crew`, `Burkina Faso`."""
    named = all(map(_NAME.fullmatch, said))
    return named and all(each.istitle() and each.lower() not in _CLAUSES for each in said[1:])


def _whose(words: list[_Word], at: int) -> int:
    """A name before "holidays": one that is known, a code, or one word that begins with a capital."""
    for many in range(min(_MAX_WORDS, len(words) - at), 0, -1):
        said = " ".join(each.text for each in words[at : at + many])
        if said.lower() in KNOWN_NAMES:
            return many
    word = words[at].text if at < len(words) else ""
    title = word.istitle() and word.lower() not in (*_KINDS, *_FILLERS, "holiday", "holidays", "day", "days")
    return int(_CODE.fullmatch(word) is not None or (title and word.isalpha() and not _is_day(words, at)))


def _code(words: list[_Word], at: int) -> int:
    return int(at < len(words) and _CODE.fullmatch(words[at].text) is not None)


def _after_link(words: list[_Word], at: int) -> int:
    """Where a comma, an "and" or both end."""
    if at < len(words) and words[at].text == ",":
        at += 1
    return at + 1 if at < len(words) and words[at].lower in ("and", "or", "&", "/", "plus") else at


def _may_end(words: list[_Word], at: int) -> bool:
    """Whether a name may end here: at a mark, another clause, a number, a zone, or the end."""
    if at >= len(words) or words[at].text in _MARKS or words[at].lower in (*_CLAUSES, "&", "/", "plus"):
        return True
    digits = words[at].text[0].isdigit() and not re.fullmatch(r"\d{4}", words[at].text)
    return digits or _is_zone(words, at)


def _is_zone(words: list[_Word], at: int) -> bool:
    """Whether a zone is named here: `Europe/Paris`, `UTC`, `New York time`."""
    if at < len(words) and (names_zone(words[at].text) or re.fullmatch(r"[A-Z]\w+/\w+", words[at].text)):
        return True
    said = [each.lower for each in words[at : at + _MAX_WORDS + 1]]
    end = said.index("time") if "time" in said else 0
    return end > 0 and all(_NAME.fullmatch(each) and each not in _CLAUSES for each in said[:end])


def _is_day(words: list[_Word], at: int) -> bool:
    """Whether days or dates are named here: `Fridays`, `the 1st`, `in July`, `3 May`."""
    said = [each.lower for each in words[at : at + 4]]
    while said and said[0] in ("on", "in", "during"):
        said = said[1:]
    if said[:1] == ["the"]:
        return len(said) > 1 and (_DATE.fullmatch(said[1]) is not None or said[1] in (*ORDINALS, *_DAYS, "last"))
    if not said:
        return False
    dated = said[0].isdigit() and said[1:2] != [] and said[1] in MONTHS
    return dated or said[0] in _DAYS or said[0] in MONTHS or _DATE.fullmatch(said[0]) is not None
