"""What webhooks and links are signed with: keys made of the installation's own, for each owner, agent and purpose.

An owner whose receiver knows its key can't make a signature that another owner's receiver takes, nor one that an agent
takes for a wake. The installation's key can't be found from any of them. While it is changed there are two, and both
sign: receivers change over one by one.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, Literal

import standardwebhooks
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

type Keys = Callable[[], Sequence[bytes]]
"""The installation's keys, the newest first; none if it has none, and then nothing is signed."""

Kind = Literal["webhook", "wake", "button"]

PREFIX: Final = "whsec_"


def secrets_of(keys: Sequence[bytes], kind: Kind, name: str) -> list[str]:
    """What a receiver verifies with, as Standard Webhooks writes it: of an owner's webhooks, or of an agent's wakes."""
    return [PREFIX + b64encode(derived(key, kind, name)).decode() for key in keys]


def signers_of(keys: Sequence[bytes], kind: Kind, name: str) -> list[standardwebhooks.Webhook]:
    return [standardwebhooks.Webhook(derived(key, kind, name)) for key in keys]


@lru_cache(maxsize=4096)
def derived(key: bytes, kind: Kind, name: str) -> bytes:
    """The key of this name for this purpose alone."""
    return HKDF(SHA256(), 32, salt=None, info=f"cronty {kind}\0{name}".encode()).derive(key)
