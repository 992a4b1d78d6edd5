"""What may be the name of a topic, a channel or a list of days off."""

import re
from typing import Final, TypeGuard

MAX_DASHED_NAME: Final = 64
RULE: Final = f"1 to {MAX_DASHED_NAME} lower-case letters and digits with single dashes between them"

_PATTERN: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def is_dashed_name(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and len(text) <= MAX_DASHED_NAME and _PATTERN.fullmatch(text) is not None
