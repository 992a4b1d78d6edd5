"""What to say of a text that the grammar can't read: the word in the way, what could stand there, and an example."""

from typing import Final

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.near import near
from cronty.timing.words.engine import Token, TooMuch, Unreadable
from cronty.timing.words.often import WHICH
from cronty.timing.words.places import zones_of
from cronty.timing.words.tokens import EXAMPLES, is_known
from cronty.timing.words.vocabulary import (
    ADVERBS,
    MONTHS,
    NUMBERS,
    ORDINALS,
    PARTS,
    UNITS,
    WEEKDAYS,
    WEEKDAYS_PLURAL,
    ordinal,
)

_EVERY_WHAT: Final = 'Say the unit, as in "every 5 minutes", or the day, as in "every Monday at 9:00".'
_WHICH_DAY: Final = 'Say which day, as in "next Monday at 9:00" or "on 3 May at 9:00".'
_HOLIDAY: Final = 'Holidays aren\'t known by name; give the date, as in "on 25 December at 9:00".'
_HOLIDAY_END: Final = 'Holidays aren\'t known by name; give the date, as in "every day at 9:00 until 25 December".'
_HOLIDAY_OUT: Final = 'Holidays aren\'t known by name; give the date, as in "except 25 December 2027".'
_FROM_END: Final = (
    'Say it as in "3rd to last day of the month at 9:00" or "3rd to last business day of the month at 9:00".'
)
_NIGHTS: Final = 'Say the days, as in "Sunday to Thursday at 21:00".'
_HOLIDAYS: Final = (
    'Whose holidays? Say "except holidays in Germany" or "except holidays in DE-BY"; for a list of your own "except '
    'days off of team"; or leave out dates, as in "except 25 December 2027".'
)
_EACH_OF_WEEK: Final = 'Say from when until when, as in "every day at 9:00 from 3 May to 7 May".'
_FRIDAY: Final = 'Say the day, as in "on Friday at 17:00" or "every Friday at 17:00".'
_TIME: Final = 'Say the time, as in "tomorrow at 9:00".'
_HOURS: Final = 'Say the hours, as in "every hour from 9:00 through 17:00 on weekdays".'
_UNTIL_TIME: Final = (
    'Say the hours, as in "every hour from 9:00 through 17:00", or the last day, as in "every hour until Friday".'
)
_SAY_WHEN: Final = 'Say when, as in "in 10 minutes".'
_HINTS: Final = {
    **dict.fromkeys(("semimonthly", "semi"), 'Say on which days, as in "on the 1st and 15th of every month at 9:00".'),
    "bimonthly": 'It may be twice a month or every two months: say "on the 1st and 15th of every month at 9:00".',
    **dict.fromkeys(("now", "immediately", "instantly"), 'A schedule is for later: say "in 1 minute", or run it now.'),
    **dict.fromkeys(("soon", "later", "asap", "shortly", "bit", "while", "moment"), _SAY_WHEN),
    **dict.fromkeys(("few", "some", "several"), 'Say how many, as in "in 3 hours" or "every 3 hours".'),
    **dict.fromkeys(("twice", "times", "thrice"), WHICH["day"]),
    **dict.fromkeys(("sometime", "whenever", "any", "anytime", "never"), _SAY_WHEN),
    "yesterday": 'Name a day to come, as in "tomorrow at 9:00".',
    "office": _HOURS,
    **dict.fromkeys(("early", "late", "mid-morning", "mid-afternoon"), _TIME),
    "repeat": 'Say how often, as in "every day at 9:00".',
    "ago": 'Name a time to come, as in "in 5 minutes".',
    "eow": _FRIDAY,
    **dict.fromkeys(("maybe", "perhaps", "latest", "earliest"), _TIME),
    **dict.fromkeys(("weeknight", "weeknights", "school"), _NIGHTS),
    **dict.fromkeys(("mid", "middle"), 'Say it as in "on the 15th of every month at 9:00" or "tomorrow at 10:30".'),
    "overnight": 'Say the hours, as in "every hour from 22:00 through 5:00".',
    "birthday": 'Give the date, as in "every year on 3 May at 9:00".',
    "local": 'Say it as in "tomorrow at 9:00 local time", or leave it out.',
    "z": 'Name the zone, as in "tomorrow at 9:00 UTC".',
    **dict.fromkeys(
        ("biannual", "biannually", "semiannually", "semi-annually"),
        'Say on which days, as in "every 6 months on the 1st at 9:00".',
    ),
    **dict.fromkeys(("dinner", "breakfast", "supper", "tea", "bed", "same"), _TIME),
    "term": 'Say from when until when, as in "every day at 9:00 from 3 May to 7 May".',
    "overmorrow": 'Say it as in "in 2 days at 9:00".',
    "once": 'Say when, as in "every day at 9:00" or "tomorrow at 9:00".',
    **dict.fromkeys(("around", "about", "approximately", "approx", "roughly", "ish", "within", "less"), _TIME),
    **dict.fromkeys(("holidays", "holiday"), _HOLIDAYS),
    **dict.fromkeys(("christmas", "xmas", "easter", "thanksgiving", "eve", "new", "good"), _HOLIDAY),
    **dict.fromkeys(
        ("sunrise", "sunset", "dawn", "dusk"), 'The sun isn\'t known here; say a time, as in "every day at 7:00".'
    ),
    **dict.fromkeys(("call", "email", "send", "check", "remind", "buy", "pay", "tell", "me"), ""),
}
_LESS: Final = 'Say one schedule, as in "every weekday at 9:00 and 17:00", and make a job for each other one.'
_OFFSET: Final = (
    'Name the zone, as in "tomorrow at 9:00 Europe/Berlin", or give all of it as in 2027-01-31T09:00+01:00.'
)
_ONLY_TIME: Final = 'Give only the time, as in "tomorrow at 9:00"; what is to be done is said elsewhere.'
# What a kind of word is called where it was expected; the rest isn't worth naming.
_NAMES: Final = {
    "UNIT": "a unit such as minutes",
    "WEEKDAY": "a day of the week",
    "MONTH": "a month",
    "TIME": "a time such as 9:00",
    "DATE": "a date",
    "PART": "morning, afternoon, evening or night",
    "HOURS": "hour",
    "YEAR": "a year",
}
_SUGGESTED: Final = (
    *(*WEEKDAYS, *WEEKDAYS_PLURAL, *MONTHS, *ORDINALS, *UNITS, *PARTS, *ADVERBS),
    *("every", "each", "other", "today", "tonight", "tomorrow", "noon", "midday", "midnight", "weekday", "weekdays"),
    *(
        "weekend",
        "weekends",
        "next",
        "this",
        "last",
        "between",
        "from",
        "until",
        "through",
        "past",
        "oclock",
        "starting",
    ),
    *("except", "business", "quarter", "time", "please", "remind", "the", "and"),
)
_FOREIGN: Final = ("jeden", "tag", "uhr", "morgen", "heute", "chaque", "jour", "demain", "cada", "dia", "todos")
_OTHERS: Final = (*_FOREIGN, "um", "los", "las")


def refusal(text: str, tokens: list[Token], bad: Unreadable) -> BadTrigger:
    """The refusal of a text, with the best advice there is."""
    if isinstance(bad, TooMuch):
        return Unread("Can't read a time that says so much", _LESS)
    words = [each.text for each in tokens]
    unknown = [each.text for each in tokens if "UNKNOWN" in each.kinds]
    token = bad.token
    of_what = bad.before is not None and ("EVERY" in bad.before.kinds or words[:2] == ["every", "in"])
    if of_what and (token is None or "UNKNOWN" not in token.kinds):
        return Unread(f'Can\'t read "{text}": every what?', _EVERY_WHAT)
    if token is None:
        return _too_short(text, words, bad)
    word = token.text if not unknown or "UNKNOWN" in token.kinds else unknown[0]
    word = word[:60]
    message = f'Can\'t read "{text}"' if word == text.lower() else f'Can\'t read "{word}" in "{text}"'
    if not tokens:
        return Unread(message, _OFFSET if word == "+" else EXAMPLES)
    return Unread(message, _hint(word, words, unknown, bad))


def _hint(word: str, words: list[str], unknown: list[str], bad: Unreadable) -> str:
    for each in (word, *unknown, *words):
        if each in ("times", "time", "x") and "every" in words:
            return 'Say how many times at the end, as in "every 2 hours, 5 times".'
        if each == "now" and "from" in words:
            return 'Say how long, as in "in 3 days at 9:00".'
        if each in ("twice", "times", "thrice", "x"):
            return _how_often(words)
        if each in ("odd", "even"):
            return _every_second(each, words)
        if each in _HINTS:
            return _of_holiday(words) if _HINTS[each] == _HOLIDAY else _HINTS[each] or _ONLY_TIME
    before = "" if bad.before is None else bad.before.text
    if before in ("until", "till", "ending", "through") and _is_clock(word):
        return _UNTIL_TIME
    if (hint := _of_time(word, before, words)) is not None:
        return hint
    if "EXCEPT" in (() if bad.before is None else bad.before.kinds) and word in unknown:
        return f'If that is a list of days off, say "except days off of {word}"; else leave out days or dates by name.'
    if word[-1] == "h" and word[:-1].isdigit():
        return f'Give a time as in "{word[:-1]}:00".'
    if (
        word in _FOREIGN
        or len(set(unknown) & set(_OTHERS)) > 1
        or (len(unknown) > 2 and len(unknown) == sum(map(str.isalpha, words)))
    ):
        return f"English only. {EXAMPLES}"
    if word == "to" and unknown:
        return _ONLY_TIME
    if word.isdigit() and len(word) > 2:
        return 'Give a time as in "17:30", a date as in "2027-01-31", a number with its unit.'
    if word != words[0] and zones_of(word):
        return f'If it is a time zone, say so at the end, as in "tomorrow at 9:00 {word.title()} time".'
    if word in ("next", "this") or before in ("next", "this"):
        return _WHICH_DAY
    if word == "-" and before.isdigit():
        return _EACH_OF_WEEK
    meant = _meant(word)
    if meant:
        return f'Did you mean "{meant[0]}"? {EXAMPLES}'
    return f"{_expected(bad)}{EXAMPLES}"


def _of_holiday(words: list[str]) -> str:
    if not {"except", "but", "excluding"}.isdisjoint(words):
        return _HOLIDAY_OUT
    return _HOLIDAY if {"until", "till", "through", "ending"}.isdisjoint(words) else _HOLIDAY_END


def _of_time(word: str, before: str, words: list[str]) -> str | None:
    """What to say instead of `noonish`, `after lunch`, `by Friday`, `end of the week`, `in 2:30`, `on 15 at 9`."""
    if (before, word) == ("day", "before"):
        return 'Say it as in "2nd to last day of the month at 9:00", or give the date.'
    if word in ("weekend", "weekends") and ("month" in words or before in ORDINALS or before == "last"):
        return 'Say which day, as in "first Saturday of the month at 10:00".'
    if word == "before" and "end" in words and "month" in words:
        return _FROM_END
    if word in ("business", "working", "work"):
        of_day = _TIME if word == "work" or "start" in words else 'Name the day, as in "on Friday at 9:00".'
        return _HOURS if "hours" in words else of_day
    if (before, word) == ("after", "next"):
        return 'Say it as in "a week from Friday at 9:00".'
    beside = before in ("after", "by") and word != "the" and word not in UNITS
    if word.endswith("ish") or "before" in (word, before) or beside:
        return _TIME if word not in WEEKDAYS else f'Say when, as in "on {word.capitalize()} at 9:00".'
    if word in ("week", "weeks") and ("end" in words or "start" in words or "beginning" in words):
        return _FRIDAY
    if before == "week" and not {"next", "this"}.isdisjoint(words):
        return _EACH_OF_WEEK if "every" in words else _WHICH_DAY
    if before in ("in", "every") and ":" in word:
        return 'Say how long, as in "in 2h30m" or "every 90 minutes".'
    if before.isdigit() and words[words.index(before) - 1] == "on":
        return f'Say "on the {ordinal(int(before[:2]))} at 9:00", or name the month, as in "on 3 May at 9:00".'
    return None


def _every_second(which: str, words: list[str]) -> str:
    """What to say instead of `every odd week`, `every even hour`, `on odd days`."""
    if not {"hour", "hours"}.isdisjoint(words):
        return f'Say it as in "every 2 hours from {"1:00 through 23:00" if which == "odd" else "0:00 through 22:00"}".'
    if not {"day", "days", "date", "dates"}.isdisjoint(words):
        days = "1st, 3rd and 5th" if which == "odd" else "2nd, 4th and 6th"
        return f'Say which, as in "on the {days} of every month at 9:00", or "every 2 days at 9:00".'
    # Week 13 and week 14 of 2027.
    since = "29 March 2027" if which == "odd" else "5 April 2027"
    return f'Say it as in "every 2 weeks on Monday at 9:00 starting {since}".'


def _is_clock(word: str) -> bool:
    return word[:1].isdigit() or word in ("noon", "midday", "midnight")


def _how_often(words: list[str]) -> str:
    """What to say instead of `twice a week`."""
    units = [UNITS[each] for each in words if each in UNITS] + [ADVERBS[each][1] for each in words if each in ADVERBS]
    return next((WHICH[each] for each in units if each in WHICH), WHICH["day"])


def _meant(word: str) -> list[str]:
    """The word that was probably meant: two letters swapped, or nearly the same."""
    if len(word) < 3 or word in _SUGGESTED or is_known(word):
        return []
    swapped = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)]
    # Two letters more or less are another word, unless it is a long one; so is another first letter.
    most = 2 if len(word) > 6 else 1
    alike = [each for each in _SUGGESTED if len(each) > 3 and each[0] == word[0] and abs(len(each) - len(word)) <= most]
    return [each for each in swapped if each in _SUGGESTED] or (near(word, alike) if len(word) > 3 else [])


def _too_short(text: str, words: list[str], bad: Unreadable) -> BadTrigger:
    before = "" if bad.before is None else bad.before.text
    if before.isdigit() and len(words) > 1 and words[-2] in ("until", "till", "ending", "through"):
        return Unread(f'Can\'t read "{text}": until when?', _UNTIL_TIME)
    for each in words:
        if _HINTS.get(each):
            return Unread(
                f'Can\'t read "{text}"' if each == text.lower() else f'Can\'t read "{each}" in "{text}"', _HINTS[each]
            )
    if "UNIT" in bad.expected and (before.isdigit() or before in NUMBERS):
        if len(words) > 1 and words[-2] in ("every", "each"):
            return Unread(f'Can\'t read "{text}": every what?', _EVERY_WHAT)
        return Unread(f'Can\'t read "{text}": {before} what?', f'Say the unit, as in "in {before[:12]} minutes".')
    if "next" in words or "this" in words:
        return Unread(f'Can\'t read "{"next" if "next" in words else "this"}" in "{text}"', _WHICH_DAY)
    return Unread(f'Can\'t read "{text}": something is missing after "{before}"', f"{_expected(bad)}{EXAMPLES}")


def _expected(bad: Unreadable) -> str:
    """What could have stood there, if that is little enough to be told."""
    names = [_NAMES[kind] for kind in _NAMES if kind in bad.expected]
    return f"Expected there: {', '.join(names)}. " if 0 < len(names) <= 4 and len(bad.expected) <= 12 else ""
