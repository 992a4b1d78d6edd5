"""What goes wrong with a trigger."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from reprlib import Repr
from typing import Final

_SHORT: Final = Repr(maxstring=80, maxother=80)


class BadTrigger(ValueError):
    """A trigger that can't be used: `message` says what was wrong, with the value, `hint` what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}. {hint}" if hint else message)
        self.message = message
        self.hint = hint
        self.field: str | None = None
        """Which field of a request it was given in, where there are several."""


@contextmanager
def given_in(field: str) -> Generator[None]:
    """Note on a `BadTrigger` which field it was given in."""
    try:
        yield
    except BadTrigger as bad:
        bad.field = field
        raise


def shown(value: object) -> str:
    """Return a value as it may stand in a message: only its ends if it is long."""
    try:
        return _SHORT.repr(value)
    except ValueError:
        return "a number with thousands of digits"


class Unread(BadTrigger):
    """What can't be read as a time or a rule at all; its message may be a question."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        if hint and message.endswith("?"):
            self.args = (f"{message} {hint}",)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that may be meant: words that mean only this, what else to know about it, and its next slot."""

    words: str
    description: str
    next_at: datetime | None


class Unclear(BadTrigger):
    """What may mean several things; the message lists them, and `candidates` has each."""

    def __init__(self, message: str, hint: str, candidates: tuple[Candidate, ...]) -> None:
        super().__init__(message, hint)
        self.candidates = candidates
