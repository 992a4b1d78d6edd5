"""The text of an API key, and the hash of it that is stored."""

import hashlib
import hmac
import re
from typing import Final

_KEY: Final = re.compile(r"cronty_([0-9]{1,19})_([A-Za-z0-9_-]{43})")


def key_text(key_id: int, secret: str) -> str:
    """The key as it is shown to its owner: `cronty_<id>_<secret>`."""
    return f"cronty_{key_id}_{secret}"


def read_key(text: str) -> tuple[int, str] | None:
    """The id and the secret of a key, or None if the text isn't a key."""
    found = _KEY.fullmatch(text)
    return (int(found[1]), found[2]) if found and int(found[1]) < 2**63 else None


def key_hash(secret: str) -> bytes:
    """The hash that is stored. The secret is 32 random bytes, so a fast hash is safe."""
    return hashlib.sha256(secret.encode()).digest()


def is_secret_of(secret: str, stored: bytes) -> bool:
    return hmac.compare_digest(key_hash(secret), stored)
