"""From text to tokens, and a cursor over them."""

from dataclasses import dataclass
from typing import Literal

from cronty.timing.errors import Unread

type Kind = Literal["number", "word", "mark", "iso"]

LONGEST = 128
EXAMPLES = (
    'Say it as in "in 2h30m", "tomorrow at 9:00", "every weekday at 8:30" or "last day of the month at 17:00", '
    "or give a cron expression."
)
_OFFSET = 'Name the zone, as in "tomorrow at 9:00 Europe/Berlin", or give all of it as in 2027-01-31T09:00+01:00.'
_MARKS = frozenset(":.,/-()&")
_SPELLINGS = {"\u2019": "'", "\u2018": "'", "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u00a0": " ", "\u202f": " "}
_SHORT = (("a.m.", "am"), ("p.m.", "pm"), ("a.m", "am"), ("p.m", "pm"), ("o'clock", "oclock"), ("o' clock", "oclock"))


@dataclass(frozen=True, slots=True)
class Token:
    """A number, a word in lower case, a mark, or an ISO 8601 duration; `glued` if no space is before it."""

    kind: Kind
    text: str
    glued: bool


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
            raise Unread(f'Can\'t read {each!r} in "{show(text)}"', "Use plain letters and digits.")
    return plain


def show(text: str) -> str:
    """Return the text as it may stand in a message."""
    return "".join(each if each.isprintable() else " " for each in text).strip()


def tokenise(text: str) -> list[Token]:
    """Split tidy text into runs of digits, runs of letters, and marks."""
    lowered = text.lower().rstrip(".!?; ")
    for long, short in _SHORT:
        lowered = lowered.replace(long, short)
    found: list[Token] = []
    for chunk in lowered.split(" "):
        if _is_iso_duration(chunk.rstrip(",")):
            found.append(Token("iso", chunk.rstrip(","), False))
        else:
            found.extend(_split(chunk, text))
    return found


def _is_iso_duration(chunk: str) -> bool:
    return chunk[:1] == "p" and (chunk[1:2].isdigit() or (chunk[1:2] == "t" and chunk[2:3].isdigit()))


def _split(chunk: str, text: str) -> list[Token]:
    found: list[Token] = []
    start = 0
    while start < len(chunk):
        end = start + 1
        if chunk[start].isdigit():
            while end < len(chunk) and chunk[end].isdigit():
                end += 1
            kind: Kind = "number"
        elif chunk[start].isalpha():
            while end < len(chunk) and (chunk[end].isalpha() or chunk[end] == "'"):
                end += 1
            kind = "word"
        elif chunk[start] in _MARKS:
            kind = "mark"
        else:
            raise Unread(f'Can\'t read "{chunk[start]}" in "{text}"', _OFFSET if chunk[start] == "+" else EXAMPLES)
        found.append(Token(kind, chunk[start:end], start > 0))
        start = end
    return found


class Cursor:
    """A place in the tokens; a parser takes what it knows and leaves the rest."""

    __slots__ = ("_tokens", "at", "text")

    def __init__(self, tokens: list[Token], text: str) -> None:
        self._tokens = tokens
        self.text = text
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self._tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        where = self.at + ahead
        return self._tokens[where] if where < len(self._tokens) else None

    def word(self, ahead: int = 0) -> str:
        """Return the word ahead, empty if there is none."""
        token = self.peek(ahead)
        return token.text if token is not None and token.kind == "word" else ""

    def take(self, *words: str) -> bool:
        """Take these words or marks, all or none."""
        for ahead, word in enumerate(words):
            token = self.peek(ahead)
            if token is None or token.text != word:
                return False
        self.at += len(words)
        return True

    def take_any(self, *words: str) -> str:
        """Take one of these words or marks; empty if none is there."""
        token = self.peek()
        if token is None or token.text not in words:
            return ""
        self.at += 1
        return token.text

    def take_link(self) -> bool:
        """Take what is between the members of a list: a comma, `and`, or both."""
        start = self.at
        self.take(",")
        self.take_any("and", "&")
        return self.at > start

    def take_mark(self, mark: str) -> bool:
        """Take a mark that is glued to what is before it."""
        token = self.peek()
        if token is None or token.text != mark or not token.glued:
            return False
        self.at += 1
        return True

    def digits(self, *, glued: bool = False) -> str:
        """Take a number as it was written; empty if there is none."""
        token = self.peek()
        if token is None or token.kind != "number" or (glued and not token.glued):
            return ""
        self.at += 1
        return token.text
