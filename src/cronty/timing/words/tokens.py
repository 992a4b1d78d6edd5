"""The text of a time, made plain; and the grammar that reads it."""

from functools import cache
from importlib.resources import files
from typing import Final

from cronty.timing.errors import Unread
from cronty.timing.words.engine import Grammar
from cronty.timing.words.spellings import spelled_out
from cronty.timing.words.vocabulary import WORDS

LONGEST: Final = 500
MAX_TOKENS: Final = 120
EXAMPLES: Final = (
    'Say it as in "in 2h30m", "tomorrow at 9:00", "every weekday at 8:30" or "last day of the month at 17:00", '
    "or give a cron expression."
)
_SPELLINGS: Final = {
    "\u2019": "'",
    "\u2018": "'",
    "\u2013": "-",
    "\u2014": "-",
    "\u2212": "-",
    "\u00a0": " ",
    "\u202f": " ",
    "\u00bd": " 1/2 ",
}
# What is said in several words or marks, and one word for it.
_SHORT: Final = (
    ("a.m.", "am"),
    ("p.m.", "pm"),
    ("a.m", "am"),
    ("p.m", "pm"),
    ("o'clock", "oclock"),
    ("o' clock", "oclock"),
    ("this coming", "coming"),
    ("but not", "except"),
    ("other than", "except"),
    ("apart from", "except"),
    ("close of business", "cob"),
    ("end of business", "cob"),
)


@cache
def grammar() -> Grammar:
    """The page of grammar, read once."""
    page = files(__package__ or "cronty.timing.words") / "grammar.txt"
    return Grammar(page.read_text(encoding="utf-8"), WORDS)


def is_known(word: str) -> bool:
    """Whether the grammar has this word."""
    return word in grammar().kinds


def tidy(text: str) -> str:
    """Return the text in plain ASCII with single spaces; anything else is refused."""
    if len(text) > LONGEST:
        raise Unread(
            f"Can't read a time of {len(text)} characters", f"At most {LONGEST} are allowed. Give only the time."
        )
    plain = " ".join("".join(_SPELLINGS.get(each, each) for each in text).split())
    if not plain:
        raise Unread("Can't read an empty time", EXAMPLES)
    for each in plain:
        if not each.isascii() or not each.isprintable():
            shown = "".join(each if each.isprintable() else " " for each in text).strip()
            hint = f"English only. {EXAMPLES}" if each.isalpha() else "Use plain letters and digits."
            raise Unread(f'Can\'t read {each!r} in "{shown}"', hint)
    return plain


def lowered(text: str) -> str:
    """Return tidy text as the grammar has it: in lower case, without a full stop, common phrases in one word."""
    found = text.lower().rstrip(".!?; ")
    for long, short in _SHORT:
        found = found.replace(long, short)
    return spelled_out(found)
