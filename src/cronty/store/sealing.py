"""Encrypts secrets in the database: AES-GCM, with keys that are kept outside the database.

The context of a secret is authenticated along with its text. So a row that is copied in the tables to another owner or
another name can't be decrypted there.
"""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes
from typing import Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cronty.store.private_file import private_text

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12

HOW_TO_MAKE_A_KEY: Final = (
    "`cronty key` prints a new one: set it as CRONTY_SECRET_KEY for every process of this installation, "
    "and keep a copy outside the database."
)


class BadKey(ValueError):
    """An invalid key; the text never contains the key."""


class CannotOpen(Exception):
    """No key decrypts it, or it was encrypted for another context."""


class Sealer:
    """The first key encrypts, every key decrypts: during a key change, give the new key and the old one."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise BadKey(f"A key has {KEY_BYTES} bytes, and there has to be one. {HOW_TO_MAKE_A_KEY}")
        self._keys: Mapping[str, AESGCM] = {_id_of(key): AESGCM(key) for key in keys}
        self.key_id = _id_of(keys[0])
        """The id of the key that encrypts; it reveals nothing about the key."""

    @classmethod
    def read(cls, text: str) -> Self:
        """From base64; several keys are separated by commas."""
        return cls(read_keys(text))

    def seal(self, text: str, context: str) -> bytes:
        nonce = token_bytes(_NONCE_BYTES)
        return nonce + self._keys[self.key_id].encrypt(nonce, text.encode(), context.encode())

    def open(self, sealed: bytes, key_id: str, context: str) -> str:
        key = self._keys.get(key_id)
        if key is None:
            raise CannotOpen("It was sealed with a key that isn't in CRONTY_SECRET_KEY.")
        try:
            return key.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context.encode()).decode()
        except (InvalidTag, ValueError):
            raise CannotOpen("It was changed, or moved here from somewhere else.") from None


def read_keys(text: str) -> list[bytes]:
    """The keys in CRONTY_SECRET_KEY: base64, separated by commas."""
    return [_read_key(part.strip(), number) for number, part in enumerate(text.split(","), 1)]


def new_key() -> str:
    """A key for CRONTY_SECRET_KEY."""
    return urlsafe_b64encode(token_bytes(KEY_BYTES)).decode()


def key_of_folder(folder: Path) -> str:
    """The key in the folder's `secret.key`, which the first call makes."""
    return private_text(folder / "secret.key", new_key)


def _id_of(key: bytes) -> str:
    return sha256(b"cronty key id\0" + key).hexdigest()[:16]


def _read_key(text: str, number: int) -> bytes:
    try:
        key = b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise BadKey(
            f"Key number {number} of CRONTY_SECRET_KEY must be the base64 of {KEY_BYTES} random bytes. "
            + HOW_TO_MAKE_A_KEY
        ) from None
    return key
