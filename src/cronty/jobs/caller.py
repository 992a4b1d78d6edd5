"""Who is calling, for whom, through what, and what they may do. API keys are made and read here, not looked up."""

import hashlib
import hmac
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, get_args

Scope = Literal["read", "schedule", "run", "prompts", "admin"]

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
MEANINGS: Final[dict[Scope, str]] = {
    "read": "look at jobs, runs and the clock",
    "schedule": "make, change, pause, cancel and delete jobs",
    "run": "run a job now, try failed runs again, send a notification at once",
    "prompts": "read and settle the inbox, make prompts for agents",
    "admin": "keys, channels, limits and the audit trail",
}

_KEY: Final = re.compile(r"cronty_([0-9]{1,19})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Caller:
    """`owner` comes from the token and from nowhere else. `agent` is set if the token was made for one.

    If the token is a key, `key_id` is the id in it and `key_number` what its owner calls it.
    """

    owner: str
    scopes: frozenset[Scope]
    agent: str | None = None
    key_id: int | None = None
    key_number: int | None = None

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes


@dataclass(frozen=True, slots=True)
class Acting:
    """Who does what is being done, as the trail keeps it. `caller` None: the owner, and nobody vouches for more.

    `via` is what the surface knows: {"surface": "mcp", "tool": …, "client": {"name": …, "version": …}}.
    """

    caller: Caller | None
    via: Mapping[str, object]

    def actor(self, owner: str) -> dict[str, object]:
        """Who acts on what is `owner`'s."""
        if self.caller is None:
            return {"owner": owner}
        known = {"owner": self.caller.owner, "agent": self.caller.agent, "key_id": self.caller.key_number}
        return {name: value for name, value in known.items() if value is not None}


_acting: ContextVar[Acting] = ContextVar("cronty_acting", default=Acting(None, {"surface": "python"}))  # noqa: B039


def who_acts() -> Acting:
    return _acting.get()


@contextmanager
def acting(caller: Caller | None, via: Mapping[str, object]) -> Generator[None]:
    """Everything done inside is done by this caller, through this."""
    token = _acting.set(Acting(caller, via))
    try:
        yield
    finally:
        _acting.reset(token)


def local_caller(owner: str) -> Caller:
    """Whoever sits at the machine: everything is theirs."""
    return Caller(owner, frozenset(SCOPES))


def read_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes among these names; a token of somebody else's making may hold others, which mean nothing here."""
    given = set(names)
    return frozenset(scope for scope in SCOPES if scope in given)


def key_text(key_id: int, secret: str) -> str:
    """A key as its owner keeps it: `cronty_<id>_<secret>`."""
    return f"cronty_{key_id}_{secret}"


def read_key(text: str) -> tuple[int, str] | None:
    """The id and the secret of a key, or None if it isn't one."""
    found = _KEY.fullmatch(text)
    return (int(found[1]), found[2]) if found and int(found[1]) < 2**63 else None


def key_hash(secret: str) -> bytes:
    """What is stored of a key. The secret is 32 random bytes, so a fast hash is safe."""
    return hashlib.sha256(secret.encode()).digest()


def is_secret_of(secret: str, stored: bytes) -> bool:
    return hmac.compare_digest(key_hash(secret), stored)
