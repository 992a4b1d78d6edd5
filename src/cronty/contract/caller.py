"""Who calls: for which owner, with which scopes, through which surface and client."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

Scope = Literal["read", "schedule", "run", "prompts", "admin"]
Surface = Literal["mcp", "rest", "dashboard", "cli", "python"]

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
MEANINGS: Final[dict[Scope, str]] = {
    "read": "look at jobs, runs and the clock",
    "schedule": "make, change, pause, cancel and delete jobs",
    "run": "run a job now, try failed runs again, send a notification at once",
    "prompts": "read and settle the inbox, make prompts for agents",
    "admin": "keys, channels, limits and the audit trail",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """`owner` comes from the token and from nowhere else. `agent` is set if the token was made for one.

    If the token is a key, `key_id` is the id in it and `key_number` is its number for its owner. `client` is what the
    calling program says of itself: {"name": …, "version": …}. `run` is the run that makes the call, by its message id.
    `trusted` callers sit at the machine itself, so they may schedule its commands. `operation` is what they ask for.
    """

    owner: str
    scopes: frozenset[Scope]
    agent: str | None = None
    key_id: int | None = None
    key_number: int | None = None
    surface: Surface = "python"
    client: Mapping[str, object] | None = None
    run: str | None = None
    trusted: bool = False
    operation: str | None = None

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    def origin(self) -> dict[str, object]:
        """What a job keeps of its maker."""
        known: dict[str, object] = {"surface": self.surface}
        if self.client is not None:
            known["client"] = dict(self.client)
        if self.agent is not None:
            known["agent"] = self.agent
        return known

    @property
    def is_agent(self) -> bool:
        """Over MCP the caller always is one, elsewhere if the token was made for one."""
        return self.surface == "mcp" or self.agent is not None

    def actor(self) -> dict[str, object]:
        """Who acted, as the trail keeps it."""
        known = {"owner": self.owner, "agent": self.agent, "key_id": self.key_number}
        return {name: value for name, value in known.items() if value is not None}

    def via(self) -> dict[str, object]:
        """Through what they acted, as the trail keeps it."""
        known = {"surface": self.surface, "operation": self.operation, "client": self.client}
        return {name: value for name, value in known.items() if value is not None}


def local_caller(owner: str, surface: Surface = "python", *, trusted: bool = False) -> Caller:
    """The person at the machine, who may do everything to what is the owner's."""
    return Caller(owner, frozenset(SCOPES), surface=surface, trusted=trusted)


def read_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes among these names; a token from elsewhere may hold other names, which mean nothing here."""
    given = set(names)
    return frozenset(scope for scope in SCOPES if scope in given)
