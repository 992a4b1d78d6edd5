"""The shapes of answers about an owner's own things: inbox, channels, keys, limits, trail."""

from typing import Any, Final

from pydantic import BaseModel

from cronty.web.rest.shapes import AT, JOB, RUN, UTC, like

RECEIPT: Final = f"{RUN}#1"


class Provenance(BaseModel):
    """Who made the job, when, and through what; `run_id` is the run that made it, if one did."""

    model_config = like(owner="ann", made_at=AT, surface="rest", client={"name": "curl/8"}, run_id=None)

    owner: str
    made_at: str
    surface: str | None
    client: dict[str, Any] | None
    run_id: str | None


_ITEM: Final = {
    "receipt": RECEIPT, "prompt": "Look at my pull requests.", "data": None, "agent": "claude", "job_id": JOB,
    "run_id": RUN, "name": "pull requests", "why": "planned for Mon 16 Nov 2026 09:00, Europe/Berlin",
    "scheduled_for": AT, "previous_slot": None, "attempt": 1, "deadline": AT,
    "provenance": {"owner": "ann", "made_at": AT, "surface": "rest", "client": None, "run_id": None},
}  # fmt: skip


class Prompt(BaseModel):
    """A prompt whose time has come; it is the reader's until `deadline`."""

    model_config = like(**_ITEM)

    receipt: str
    prompt: str
    data: Any
    agent: str | None
    job_id: str
    run_id: str
    name: str
    why: str
    scheduled_for: str
    previous_slot: str | None
    attempt: int
    deadline: str
    provenance: Provenance


class InboxItems(BaseModel):
    model_config = like(items=[_ITEM], count=1)

    items: list[Prompt]
    count: int


class Acknowledged(BaseModel):
    """`refused` were settled already, handed out again, or never there."""

    model_config = like(acknowledged=[RECEIPT], refused=[])

    acknowledged: list[str]
    refused: list[str]


_CHANNEL: Final = {"name": "phone", "scheme": "ntfy", "leads_to": "ntfy://ntfy.sh/…", "created_at": UTC}


class Channel(BaseModel):
    """What may be shown of a channel; never its URL."""

    model_config = like(**_CHANNEL)

    name: str
    scheme: str
    leads_to: str
    created_at: str


class Channels(BaseModel):
    model_config = like(channels=[_CHANNEL])

    channels: list[Channel]


class Sent(BaseModel):
    """A notification that is on its way; `id` is the receiving service's, if it gives one."""

    model_config = like(topic="phone", id="xE73Iyuabi")

    topic: str
    id: str


_KEY: Final = {
    "id": 3, "name": "laptop", "scopes": ["read", "schedule"], "agent": None, "created_at": UTC, "expires_at": None,
    "last_used_at": None, "revoked_at": None,
}  # fmt: skip


class Key(BaseModel):
    """A key as its owner may see it again; never the key itself."""

    model_config = like(**_KEY)

    id: int
    name: str
    scopes: list[str]
    agent: str | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class Keys(BaseModel):
    model_config = like(keys=[_KEY])

    keys: list[Key]


class MadeKey(BaseModel):
    """`key` is shown this once."""

    model_config = like(id=3, key="cronty_3_…")

    id: int
    key: str


class Me(BaseModel):
    """Whom a token stands for, and what it allows."""

    model_config = like(owner="ann", scopes=["read", "schedule"], agent=None, key_id=3)

    owner: str
    scopes: list[str]
    agent: str | None
    key_id: int | None


class Standing(BaseModel):
    """What an owner may have and do, and what is used of it; 0 means no such limit."""

    model_config = like(limits={"jobs": 10000, "pushes_per_day": 500}, used={"jobs": 4, "stored_bytes": 512})

    limits: dict[str, float | str]
    used: dict[str, int]


_ENTRY: Final = {
    "number": 7, "at": UTC, "what": "paused", "job_id": 12, "actor": {"owner": "ann", "key_id": 3},
    "client": {"surface": "rest", "route": "POST /jobs/{job_id}/pause"}, "before": {"state": "active"},
    "after": {"state": "paused"}, "hash": "9f86d081884c7d65",
}  # fmt: skip


class Entry(BaseModel):
    """One act: what was done, by whom, through what, and what it changed."""

    model_config = like(**_ENTRY)

    number: int
    at: str
    what: str
    job_id: int | None
    actor: dict[str, Any] | None
    client: dict[str, Any] | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    hash: str


class Trail(BaseModel):
    """The latest entries first; `cursor` is the `before` of the next page. Entries up to the number `archived_through`
    are in files that the operator keeps."""

    model_config = like(entries=[_ENTRY], cursor=None, archived_through=None)

    entries: list[Entry]
    cursor: int | None
    archived_through: int | None
