"""Signs archived files with Ed25519, so that they can be verified with the public key alone."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from cronty.store.sealing import BadKey, read_keys

_PURPOSE: Final = b"cronty audit checkpoint"
_PUBLIC_BYTES: Final = 32


class PublicKeys:
    """The keys whose signatures are trusted."""

    def __init__(self, keys: Iterable[Ed25519PublicKey]) -> None:
        self._keys = {_id_of(key): key for key in keys}

    @classmethod
    def read(cls, texts: Sequence[str]) -> Self:
        """From what `cronty audit key` printed."""
        return cls(map(_read_public, texts))

    def __or__(self, others: "PublicKeys") -> "PublicKeys":
        return PublicKeys([*self._keys.values(), *others._keys.values()])

    def why_not(self, text: bytes, key_id: str, signature: bytes) -> str | None:
        """Why this isn't a trusted signature of `text`; None if it is."""
        key = self._keys.get(key_id)
        if key is None:
            return f"it is signed with the key {key_id}, which isn't one of those to be trusted"
        try:
            key.verify(signature, text)
        except InvalidSignature:
            return "it was changed: it no longer has its signature"
        return None


class Signer:
    """Signs with an Ed25519 key derived from the first secret key, and trusts those derived from all of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        private = [_derive(key) for key in keys]
        self._private = private[0]
        self.key_id = _id_of(private[0].public_key())
        self.public_keys = PublicKeys(key.public_key() for key in private)

    @classmethod
    def read(cls, text: str) -> Self:
        """From CRONTY_SECRET_KEY."""
        return cls(read_keys(text))

    @property
    def public_key(self) -> str:
        """The public key as text, for verifying signatures elsewhere."""
        return urlsafe_b64encode(self._private.public_key().public_bytes_raw()).decode()

    def sign(self, text: bytes) -> bytes:
        return self._private.sign(text)


def _derive(key: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(HKDF(SHA256(), 32, salt=None, info=_PURPOSE).derive(key))


def _id_of(key: Ed25519PublicKey) -> str:
    return sha256(key.public_bytes_raw()).hexdigest()[:16]


def _read_public(text: str) -> Ed25519PublicKey:
    try:
        raw = urlsafe_b64decode(text.strip())
    except ValueError:
        raw = b""
    if len(raw) != _PUBLIC_BYTES:
        raise BadKey(f"{text!r} isn't a public key. Give it as `cronty audit key` printed it.")
    return Ed25519PublicKey.from_public_bytes(raw)
