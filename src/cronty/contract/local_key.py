"""The key of the user who runs a server on their own machine, and codes that stand for it for a short time.

The key is in a file that only this user can read, so whoever has it is this user. Our own programs don't send it: while
the server is down, another user of the machine may be listening on its port. They send a code made from it, which is
good for a minute. A link to the dashboard has a code in it too, which is good once.
"""

import hmac
import secrets
import time
from hashlib import sha256
from typing import Final, Literal

FILE: Final = "local.key"
"""Its name in the data folder."""

type Purpose = Literal["call", "open"]

LASTS: Final[dict[Purpose, int]] = {"call": 60, "open": 300}
"""Seconds that a code is good for."""


def new_local_key() -> str:
    return f"cronty_local_{secrets.token_urlsafe(32)}"


def make_code(key: str, purpose: Purpose) -> str:
    """A code for this purpose: when it ends, chance, and proof that it was made with the key."""
    text = f"{int(time.time()) + LASTS[purpose]}-{secrets.token_hex(16)}"
    return f"cronty_{purpose}_{text}-{_proof(key, purpose, text)}"


def end_of_code(key: str, purpose: Purpose, code: str) -> int | None:
    """When a code ends, in seconds since 1970; None if it has ended, or wasn't made with the key for this purpose."""
    text, _, proof = code.removeprefix(f"cronty_{purpose}_").rpartition("-")
    if not hmac.compare_digest(proof.encode(), _proof(key, purpose, text).encode()):
        return None
    end = int(text.partition("-")[0])
    return end if end > time.time() else None


def _proof(key: str, purpose: Purpose, text: str) -> str:
    return hmac.new(key.encode(), f"cronty {purpose} {text}".encode(), sha256).hexdigest()
