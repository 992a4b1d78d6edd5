"""What goes wrong with a trigger."""

from reprlib import Repr
from typing import Final

_SHORT: Final = Repr(maxstring=80, maxother=80)


class BadTrigger(ValueError):
    """A trigger that can't be used: `message` says what was wrong, with the value, `hint` what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}. {hint}" if hint else message)
        self.message = message
        self.hint = hint


def shown(value: object) -> str:
    """Return a value as it may stand in a message: only its ends if it is long."""
    try:
        return _SHORT.repr(value)
    except ValueError:
        return "a number with thousands of digits"


class Unread(BadTrigger):
    """What can't be read as a time or a rule at all."""


class Unclear(BadTrigger):
    """What may mean several things; the message lists them."""
