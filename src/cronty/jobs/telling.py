"""What is told of a run that has ended: to whom, whether at all, and in which words."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal, cast

import orjson

from cronty.jobs.action import Action
from cronty.jobs.policy import Policy, default_policy, make_policy
from cronty.jobs.storable import made_storable

TellingState = Literal["waiting", "delivered", "failed", "quiet", "unchanged"]

RETRIES: Final = make_policy(default_policy(Action("notify")))
"""It is tried as long as any notification."""

MAX_TEXT: Final = 3800
"""Bytes of a result that are told; ntfy shows 4096, and there may be a note below."""

_TEXTS: Final = ("report", "result", "output", "text", "message")
"""Where a result that is an object has its words."""


@dataclass(frozen=True, slots=True)
class Told:
    """How the telling of a run's result stands."""

    channel: str
    state: TellingState
    tries: int
    error: str | None
    told_at: datetime | None


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent. `digest` tells it from others."""

    channel: str
    title: str
    text: str

    @property
    def digest(self) -> str:
        return sha256(f"{self.title}\0{self.text}".encode()).hexdigest()

    def arguments_json(self) -> str:
        kwargs = {"message": self.text, "topic": self.channel, "title": self.title}
        return orjson.dumps({"args": [], "kwargs": kwargs}).decode()


def message_about(
    policy: Policy, name: str, state: str, result: str | None, error: str | None, told_before: str | None
) -> Message | Literal["quiet", "unchanged"]:
    """What to send about a run, or why nothing is; `told_before` is the digest of what was last told of the job."""
    title = " ".join("".join(one if one.isprintable() else " " for one in name).split())[:200] or "Cronty"
    if state == "failed":
        found = Message(policy.tell, f"{title} failed", _short(error or "No error was recorded."))
    else:
        text = text_of(result)
        if policy.tell == "" or (not text and policy.tell_when == "not_quiet"):
            return "quiet"
        found = Message(policy.tell, title, _short(text) or "Done.")
    return "unchanged" if policy.tell_when == "changed" and found.digest == told_before else found


def text_of(result: str | None) -> str:
    """The words of a result as it is stored; empty if it is empty, or says that there is nothing to report."""
    value: object = None if result is None else orjson.loads(result)
    if isinstance(value, dict):
        given = cast("Mapping[str, object]", value)
        if given.get("quiet") is True:
            return ""
        value = next((given[name] for name in _TEXTS if isinstance(given.get(name), str)), given)
    if isinstance(value, str):
        return value.strip()
    if value is None or value in ([], {}):
        return ""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _short(text: str) -> str:
    whole = made_storable(text).encode()
    return whole.decode() if len(whole) <= MAX_TEXT else whole[:MAX_TEXT].decode(errors="ignore").rstrip() + " …"
