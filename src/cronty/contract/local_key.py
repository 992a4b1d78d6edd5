"""The key of the user who runs a server on their own machine, and codes that stand for it for a short time.

The key is in a file that only this user can read, so whoever has it is this user. Our own programs don't send it:
another user of the machine may be listening where they call. They send a code made from it, which is good for a minute.
A link to the dashboard has a code in it too, which is good once. A code is of no use to whoever got it by mistake: it
is good at one address, and only if the server had that address already when the code was made. And they believe a
server that says it is ready only if it proves that it has the key.
"""

import hmac
import secrets
import time
from hashlib import sha256
from typing import Final, Literal
from urllib.parse import urlsplit, urlunsplit

FILE: Final = "local.key"
"""Its name in the data folder."""

CHALLENGE: Final = "Cronty-Challenge"
PROOF: Final = "Cronty-Proof"
"""Headers of `/ready`: a text of chance, and the proof that whoever answers has the key."""

type Purpose = Literal["call", "open"]

LASTS: Final[dict[Purpose, int]] = {"call": 60, "open": 300}
"""Seconds that a code is good for."""


def new_local_key() -> str:
    return f"cronty_local_{secrets.token_urlsafe(32)}"


def without_names(url: str) -> str:
    """The URL with 127.0.0.1 for `localhost`: where else that name leads, another user may be listening."""
    parts = urlsplit(url)
    if parts.hostname != "localhost":
        return url
    port = "" if parts.port is None else f":{parts.port}"
    return urlunsplit(parts._replace(netloc=f"127.0.0.1{port}"))


def make_code(key: str, purpose: Purpose, url: str) -> str:
    """A code for this purpose and server: when it ends, when it was made, chance, and proof that the key made it.

    When it was made is said by the clock that all processes of a machine share and nobody sets.
    """
    text = f"{int(time.time()) + LASTS[purpose]}-{time.monotonic_ns()}-{secrets.token_hex(16)}"
    return f"cronty_{purpose}_{text}-{_proof(key, purpose, url, text)}"


def end_of_code(key: str, purpose: Purpose, url: str, code: str, since: int = 0) -> int | None:
    """When a code ends, in seconds since 1970; None if it isn't good (any more) for this, here, with this key.

    `since` is when this server began to listen, by `time.monotonic_ns`.
    """
    text, _, proof = code.removeprefix(f"cronty_{purpose}_").rpartition("-")
    if not hmac.compare_digest(proof.encode(), _proof(key, purpose, url, text).encode()):
        return None
    end, made, _ = text.split("-")
    return int(end) if int(end) > time.time() and int(made) >= since else None


def ready_proof(key: str, url: str, challenge: str) -> str:
    """What the server of this user at this address says to a challenge, and nobody else can: it proves the key."""
    return _proof(key, "ready", url, challenge)


def _proof(key: str, purpose: Purpose | Literal["ready"], url: str, text: str) -> str:
    parts = urlsplit(without_names(url))
    whole = f"cronty {purpose} {parts.hostname} {parts.port} {text}"
    return hmac.new(key.encode(), whole.encode(), sha256).hexdigest()
