"""The caller of an operation: for which owner, with which scopes, through which surface and client."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, get_args

Scope = Literal["read", "schedule", "run", "prompts", "agenda", "admin"]
Surface = Literal["mcp", "rest", "dashboard", "cli", "python", "phone"]

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
MEANINGS: Final[dict[Scope, str]] = {
    "read": "look at jobs, runs, channels, limits and the clock",
    "schedule": "make, change, pause, cancel and delete jobs other than prompts",
    "run": "run a job now, try failed runs again, send a notification at once",
    "prompts": "read and settle the inbox; make, change, pause, cancel and delete prompts for agents",
    "agenda": "subscribe to the agenda from a calendar, by a URL with the key in it",
    "admin": "list, make and revoke keys; save, try and remove channels; read the audit trail",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """`owner` always comes from the token. `agent` is set if the token was made for an agent.

    If the token is a key, `key_id` is the id inside the key, and `key_number` and `key_name` are what its owner sees.
    `client` is how the calling program identifies itself: {"name": …, "version": …}. `run` is the message id of the run
    that makes the call. A `trusted` caller works on the machine itself and may schedule its commands. `operation` is
    what it asks for. `expires_at` is when its token ends; None if it doesn't. `gone` tells whether its connection has
    ended; None if it has none.
    """

    owner: str
    scopes: frozenset[Scope]
    agent: str | None = None
    key_id: int | None = None
    key_number: int | None = None
    key_name: str | None = None
    surface: Surface = "python"
    client: Mapping[str, object] | None = None
    run: str | None = None
    trusted: bool = False
    operation: str | None = None
    expires_at: datetime | None = None
    gone: Callable[[], Awaitable[bool]] | None = field(default=None, compare=False, repr=False)

    async def is_gone(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.gone is not None and await self.gone()

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    def origin(self) -> dict[str, object]:
        """What a job stores about the caller that made it."""
        known: dict[str, object] = {"surface": self.surface}
        if self.client is not None:
            known["client"] = dict(self.client)
        if self.agent is not None:
            known["agent"] = self.agent
        if self.key_name is not None:
            known["key"] = self.key_name
        return known

    @property
    def is_agent(self) -> bool:
        """True for every MCP caller; on other surfaces if the token was made for an agent."""
        return self.surface == "mcp" or self.agent is not None

    def actor(self) -> dict[str, object]:
        """Who made the call, as stored in the audit trail."""
        known = {"owner": self.owner, "agent": self.agent, "key_id": self.key_number}
        return {name: value for name, value in known.items() if value is not None}

    @property
    def named(self) -> str:
        """Who made the call, in words: `ann`, `claude of ann with key 3`."""
        by = self.owner if self.agent is None else f"{self.agent} of {self.owner}"
        return by if self.key_number is None else f"{by} with key {self.key_number}"

    def via(self) -> dict[str, object]:
        """Which surface, operation and client were used, as stored in the audit trail."""
        known = {"surface": self.surface, "operation": self.operation, "client": self.client}
        return {name: value for name, value in known.items() if value is not None}


def local_caller(owner: str, surface: Surface = "python", *, trusted: bool = False) -> Caller:
    """A user of this machine, with every scope for this owner."""
    return Caller(owner, frozenset(SCOPES), surface=surface, trusted=trusted)


def read_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes among these names; unknown names, as in another issuer's token, are ignored."""
    given = set(names)
    return frozenset(scope for scope in SCOPES if scope in given)
