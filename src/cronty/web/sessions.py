"""Sessions of the dashboard: a cookie that stands for a token, without showing it, for half a day.

The cookie has the token in it, encrypted. The token is checked on every request, so a session ends at once if its key
is revoked, and there is nothing to store. Whoever steals a cookie has the session, and not the key.
"""

import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from secrets import token_bytes
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LASTS: Final = 12 * 3600
"""Seconds from signing in to the end of a session."""

MAX_TOKEN: Final = 2400
"""So that the cookie fits into every browser."""

_NONCE: Final = 12
_CONTEXT: Final = b"cronty session"


class Sessions:
    """Processes with the same `secret` know each other's sessions; without one they end with the process."""

    def __init__(self, secret: bytes | None = None) -> None:
        self._cipher = AESGCM(sha256(_CONTEXT + b"\0" + (secret or token_bytes(32))).digest())

    def seal(self, token: str) -> str:
        nonce, end = token_bytes(_NONCE), int(time.time()) + LASTS
        sealed = self._cipher.encrypt(nonce, f"{end} {token}".encode(), _CONTEXT)
        return urlsafe_b64encode(nonce + sealed).decode()

    def open(self, cookie: str) -> str | None:
        """The token of a session; None if it has ended, or isn't ours."""
        try:
            raw = urlsafe_b64decode(cookie.encode())
            end, _, token = self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], _CONTEXT).decode().partition(" ")
        except (InvalidTag, ValueError):
            return None
        return token if int(end) > time.time() else None
