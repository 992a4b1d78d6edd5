"""What people in a hurry write short or apart, and how the grammar has it."""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final

from cronty.timing.words.vocabulary import NUMBERS

_LETTERS: Final = {"mo": "mon", "tu": "tue", "we": "wed", "th": "thu", "fr": "fri", "sa": "sat", "su": "sun"} | {
    "m": "mon",
    "w": "wed",
    "f": "fri",
}
_TWO: Final = "|".join(_LETTERS)
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun"
_NEAR: Final = rf"today|tomorrow|tmrw|tmr|every|this|{_DAY}"
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_UNIT: Final = r"(?:hours?|hrs?|h|minutes?|mins?|seconds?|secs?|s|days?|weeks?|wks?|months?|years?)\b"
_HOUR_WORD: Final = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_ONE: Final = "one|two|three|four|five|six|seven|eight|nine"
_TEN: Final = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_NUMBER: Final = "|".join(sorted(NUMBERS, key=len, reverse=True))
_MINUTES: Final = r"(0\d|2[4-9]|[345]\d)"


def _named(found: re.Match[str]) -> str:
    return f"{_LETTERS[found[1]]}{found[2]}{_LETTERS.get(found[3], found[3])}"


def _oh(found: re.Match[str]) -> str:
    """`nine oh five`."""
    return f"{NUMBERS[found[1]]}:0{NUMBERS[found[2]]}"


def _military(found: re.Match[str]) -> str:
    """`oh seven hundred` and `fourteen hundred hours`."""
    return f"{NUMBERS[found[1] or found[2]]:02}:00"


def _hundreds(found: re.Match[str]) -> str:
    """`one hundred and twenty minutes`."""
    rest = (found[2] or "").replace(" ", "-")
    return f"{100 * NUMBERS.get(found[1], 1) + NUMBERS.get(rest, 0)} "


type _Said = str | Callable[[re.Match[str]], str]

_WRITTEN: Final[tuple[tuple[str, _Said], ...]] = (
    # days
    (r"\bmtw(?:t|th|r)f\b", "monday-friday"),
    (r"\bm([/,]? ?|-)w\1f\b", "mon, wed, fri"),
    (r"\b(?:tth|tuth|t[/,&] ?th)\b", "tue, thu"),
    (rf"\b({_TWO})([-/&])({_TWO}|mon|tue|wed|thu|fri|sat|sun)\b", _named),  # m-f
    (rf"\b({_DAY})-({_DAY})-({_DAY})\b", r"\1, \2, \3"),
    (r"\b(week|work)[- ](days?)\b", r"\1\2"),
    (r"\bwk(days?|ends?)\b", r"week\1"),
    (r"\b(?:tom|tomm?orr?ow|tomoz|tmw|2morrow|2morow|2moro|2mrw)\b", "tomorrow"),
    (r"\b(?:tonite|2nite)\b", "tonight"),
    (rf"\b({_NEAR}|in the) (?:am|morn)\b", r"\1 morning"),
    (rf"\b({_NEAR}|in the) (?:pm|arvo)\b", r"\1 afternoon"),
    (rf"\b({_NEAR}) eve\b", r"\1 evening"),
    (r"\beom\b|\bmonth[- ]end\b", "end of the month"),
    (r"\beoq\b|\bquarter[- ]end\b", "end of the quarter"),
    (r"\beoy\b|\byear[- ]end\b", "end of the year"),
    (r"\b(?:second|2nd)[- ]last\b", "2nd to last"),
    (r"\b(twenty|thirty) (first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)\b", r"\1-\2"),
    (rf"\b(2[4-9]|3[01]) (and|&) (\d\d? ({_MONTH}))\b", r"\1 \4 \2 \3"),  # 24 and 25 dec
    (rf"\b(\d\d?)-({_MONTH})(?:-(\d{{4}}))?\b", r"\1 \2 \3"),  # 11-mar-2027
    (rf"\b({_MONTH})-(\d\d?)\b", r"\1 \2"),
    (r"\b(\d{4})\.(\d\d?)\.(\d\d?)\b", r"\1-\2-\3"),
    (rf"(?<!in )(?<!every )\b(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\b(?! ?{_UNIT})", r"\1-\2-\3"),
    # how often
    (
        rf"\b(every|each)({_DAY}|other|week|weekday|weekend|month|year|hour|minute|morning|evening|night)\b",
        r"\1 \2",
    ),
    (r"\b(?<!every )(?<!each )alternate\b", "every other"),
    (r"\bbi-weekly\b", "biweekly"),
    (r"\b(\d+) ?x ?(?:/ ?|an? |per )(?=day|week|month|year)", r"\1 times a "),  # 2x/week
    (r"\b(\d+) ?x (?=daily|weekly|monthly)", r"\1 times "),
    (r"\beach and every\b", "every"),
    (r"^(hourly|daily|weekly|monthly|yearly): ", r"\1 "),
    (rf"^(?:on )?(weekdays|weekends|{_DAY}),? only\b", r"\1"),
    (rf"^only (?=(?:on )?(?:weekdays|weekends|{_DAY})\b)", ""),
    (r"\bas (?:of|from)\b", "starting"),
    (r"\bstarting (?:right )?now\b", "from now on"),
    (r"\bevery other (?:night|evening)(?= at \d\d?(?::\d\d)? ?pm\b)", "every other day"),
    (r"\bevery (hour|hr|minute|min) and a half\b", r"every 1.5 \1"),
    (r"\bevery (hour|hr) (?:and )?(?=\d+ ?(?:minutes?|mins?|m)\b(?! (?:past|after|to|before)))", r"every 1 \1 "),
    (r"\b(?:(?:every|each) day of the|(?:7|seven) days a) week\b", "every day"),
    (r"^24/7,? (hourly|every (?:\d+ ?)?[a-z]+)$|^(hourly|every (?:\d+ ?)?[a-z]+),? 24/7$", r"\1\2"),
    (rf"\b(?:not|no|skip|skipping|without) (?=(?:on )?(?:the )?(?:weekends?|{_DAY})\b)", "except "),
    (r"(?<=[a-z]) ?\+ ?(?=[a-z])", " and "),  # sat+sun
    (rf"\b(?:not|skip|skipping|without) (?=(?:on |in )?(?:the )?(?:\d\d?(?:st|nd|rd|th)? )?{_MONTH}\b)", "except "),
    (r",? x ?(\d+)(?: times)?$", r", \1 times"),  # daily 7am x 10
    (r"\b(?:until|till?) further notice\b", "from now on"),
    (r"\b(?:at )?(?:the )?top of (?:every|each) hour\b", "every hour on the hour"),
    (r"\b(?:at )?(?:the )?top of the hour\b", "on the hour"),
    # how long
    (r"^(?:now ?)?\+ ?(?=\d)", "in "),
    (r"^(?:in )?(hour|week|month) from (?=now|today|tomorrow)", r"a \1 from "),
    (rf"\b(an?|{_ONE}) hundred(?: and)?(?: ((?:{_TEN})(?:[ -](?:{_ONE}))?|{_NUMBER}))? (?={_UNIT})", _hundreds),
    (rf"\b(\d+) 1/2 (?={_UNIT})", r"\1.5 "),
    (rf"\b(in|every) (\d+),(\d) ?(?={_UNIT})", r"\1 \2.\3 "),  # in 1,5 hours
    (rf"\b1/2 (?=(?:an? )?{_UNIT})", "half "),
    # the clock
    (r"(?<![\d:.])0?(1?\d)([0-5]\d) ?([ap]m)\b", r"\1:\2\3"),  # 530pm
    (r"(?<![\d:.])(\d\d?(?::\d\d)?)([ap])\b(?![.'])", r"\1\2m"),  # 5:30p
    (rf"\b({_NUMBER}|\d\d?(?:[:.]\d\d)?) ([ap]) m\b", r"\1 \2m"),  # nine a m
    (rf"\b({_HOUR_WORD}) (?:oh|o) ({_ONE})\b", _oh),
    (rf"\b(?:(?:oh|zero) ({_ONE}) hundred(?: hours)?|({_NUMBER}) hundred hours)\b", _military),
    (rf"\b({_HOUR_WORD}) ({_TEN}) ({_ONE})\b(?! {_UNIT})", r"\1 \2-\3"),  # six forty five
    (rf"^(\d\d?) {_MINUTES}(?= (?:today|tomorrow|tonight|every|each)\b)", r"\1:\2"),  # 6 45 tomorrow
    (rf"\bat (\d\d?) {_MINUTES}(?=$| ?[ap]m\b| (?:on|every|each|today|tomorrow|tonight)\b)", r"at \1:\2"),
    (r"(?<![\d:./-] )\b(1[0-2]|0?[1-9]) (1[3-9]|[2-5]\d) ?([ap]m)\b", r"\1:\2\3"),  # 9 30 am
    (
        rf"\b(at|daily|every day|weekdays|tomorrow) ([1-9])([0-5]\d)(?![\d:.]| ?{_UNIT}| ?[ap]m| ?times)",
        r"\1 \2:\3",
    ),
    (r"\b(\d\d?:\d\d) ?(?:h|hrs?|hours|uhr)\b", r"\1"),  # 17:30h
    (rf"\b({_HOUR_WORD})-(ten|fifteen|twenty|thirty|forty|forty-five|fifty)\b", r"\1 \2"),
    (r"\btwelve (?=noon|midnight)", "12 "),
    (r"(?:\B'|\b)til\b", "till"),
    (r"\bo clock\b", "oclock"),
    (r"\bon the dot\b", "sharp"),
)


@cache
def _written() -> list[tuple[re.Pattern[str], _Said]]:
    """The shapes compiled, which takes as long as a tenth of all imports."""
    return [(re.compile(shape), said) for shape, said in _WRITTEN]


@lru_cache(maxsize=64)
def spelled_out(text: str) -> str:
    """Return text in lower case with what is written short said in full; kept, as a day is looked for in it first."""
    for shape, said in _written():
        text = shape.sub(said, text)
    return text
