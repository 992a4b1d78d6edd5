"""What PostgreSQL can store of a text: neither NUL nor half a surrogate pair."""

import re
from typing import Final

_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> bool:
    return _UNSTORABLE.search(text) is None


def made_storable(text: str) -> str:
    """The text, with a mark in place of each character that can't be stored."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
