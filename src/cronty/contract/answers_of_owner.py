"""The answers about an owner: inbox, channels, keys, limits, audit trail."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, ClassVar

from cronty.contract.answers import AT, OMITTED, RECEIPT, UTC, Answer
from cronty.contract.requests import JOB, RUN


class Provenance(Answer):
    """Who made the job or last changed it, when it was made, and through what: `agent` and `key` (its name) are of the
    token, `client` is what the program calls itself. `run_id` is the run that made it, if one did."""

    EXAMPLE: ClassVar = {
        "owner": "ann", "agent": "claude", "key": "laptop", "made_at": AT, "surface": "rest",
        "client": {"name": "curl/8"}, "run_id": None,
    }  # fmt: skip

    owner: str
    agent: str | None = field(default=None, metadata=OMITTED)
    key: str | None = field(default=None, metadata=OMITTED)
    made_at: datetime
    surface: str | None
    client: Mapping[str, Any] | None
    run_id: str | None


class InboxItem(Answer):
    """A prompt that is due; the reader holds it until `deadline`, which is also `lease_until`."""

    EXAMPLE: ClassVar = {
        "receipt": RECEIPT, "prompt": "Look at my pull requests.", "data": None, "agent": "claude", "job_id": JOB,
        "run_id": RUN, "name": "pull requests", "why": "planned for Mon 16 Nov 2026 09:00, Europe/Berlin",
        "scheduled_for": AT, "previous_slot": None, "attempt": 1, "deadline": AT, "provenance": Provenance.EXAMPLE,
        "made_at": AT, "lease_until": AT,
    }  # fmt: skip

    receipt: str
    prompt: str
    data: Any
    agent: str | None
    job_id: str
    run_id: str
    name: str
    why: str
    scheduled_for: datetime
    previous_slot: datetime | None
    attempt: int
    deadline: datetime
    provenance: Provenance
    made_at: datetime
    lease_until: datetime


class InboxItems(Answer):
    """The prompts handed to the reader; `note` says for which agents others wait, if there was none for a reader
    without a name."""

    EXAMPLE: ClassVar = {"items": [InboxItem.EXAMPLE], "count": 1}

    items: list[InboxItem]
    count: int
    note: str | None = field(default=None, metadata=OMITTED)


class AcknowledgedItems(Answer):
    """`refused` receipts were settled already, handed out again, or don't exist."""

    EXAMPLE: ClassVar = {"acknowledged": [RECEIPT], "refused": []}

    acknowledged: list[str]
    refused: list[str]
    hint: str | None = field(default=None, metadata=OMITTED)


class Channel(Answer):
    """A channel without its URL, which is secret. `ahead`: ntfy gets notifications up to three days ahead, and sends
    them at their time."""

    EXAMPLE: ClassVar = {
        "name": "phone", "scheme": "ntfy", "leads_to": "ntfy://ntfy.sh/…", "ahead": True, "created_at": UTC,
    }  # fmt: skip

    name: str
    scheme: str
    leads_to: str
    ahead: bool
    created_at: datetime


class CalendarOfDaysOff(Answer):
    """A list of days off; `jobs_moved` is how many jobs have another next slot by it. `source` is where the public
    holidays of a country come from."""

    EXAMPLE: ClassVar = {"name": "team", "days": 12, "make_up_days": 1, "updated_at": UTC, "jobs_moved": 3}

    name: str
    days: int
    make_up_days: int
    updated_at: datetime
    source: str | None = field(default=None, metadata=OMITTED)
    jobs_moved: int | None = field(default=None, metadata=OMITTED)


class CalendarList(Answer):
    """The owner's lists of days off."""

    EXAMPLE: ClassVar = {"calendars": [CalendarOfDaysOff.EXAMPLE]}

    calendars: list[CalendarOfDaysOff]


class ChannelList(Answer):
    """The owner's channels."""

    EXAMPLE: ClassVar = {"channels": [Channel.EXAMPLE]}

    channels: list[Channel]


class SentNotification(Answer):
    """A notification that is on its way; `id` is the receiving service's, if it gives one. `note` says if it went to a
    public topic."""

    EXAMPLE: ClassVar = {"topic": "phone", "id": "xE73Iyuabi"}

    topic: str
    id: str
    note: str | None = field(default=None, metadata=OMITTED)


class Key(Answer):
    """An API key without its secret."""

    EXAMPLE: ClassVar = {
        "id": 3, "name": "laptop", "scopes": ["read", "schedule"], "agent": None, "created_at": UTC,
        "expires_at": None, "last_used_at": None, "revoked_at": None,
    }  # fmt: skip

    id: int
    name: str
    scopes: list[str]
    agent: str | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class KeyList(Answer):
    """The owner's keys."""

    EXAMPLE: ClassVar = {"keys": [Key.EXAMPLE]}

    keys: list[Key]


class NewKey(Answer):
    """A key just made; `key` is shown only here."""

    EXAMPLE: ClassVar = {"id": 3, "key": "cronty_3_…"}

    id: int
    key: str


class Me(Answer):
    """The owner a token belongs to, and what it allows."""

    EXAMPLE: ClassVar = {"owner": "ann", "scopes": ["read", "schedule"], "agent": None, "key_id": 3}

    owner: str
    scopes: list[str]
    agent: str | None
    key_id: int | None


class OwnerZone(Answer):
    """The owner's time zone from now on, what it was, and what its clocks show."""

    EXAMPLE: ClassVar = {
        "timezone": "Europe/Berlin", "before": "America/New_York", "now": AT,
        "note": "Jobs that are there already keep their own time zones.",
    }  # fmt: skip

    timezone: str
    before: str | None
    now: datetime
    note: str


class OwnerFigures(Answer):
    """What an owner has and uses. Runs are counted up to 1000, those planned for the last hour and the last 24 of its
    latest 1000 jobs. `failed` is in 24 hours; `held_by` are limits that it has reached, `limited` says that it has
    some of its own."""

    EXAMPLE: ClassVar = {
        "name": "ann", "jobs": 12, "stored_bytes": 5210, "running": 1, "runs_in_hour": 40, "runs_in_day": 960,
        "failed": 2, "held_by": ["calls_per_minute"], "overdue": 0, "oldest_overdue": None, "limited": False,
        "erasing": False, "created_at": UTC,
    }  # fmt: skip

    name: str
    jobs: int
    stored_bytes: int
    running: int
    runs_in_hour: int
    runs_in_day: int
    failed: int
    held_by: list[str]
    overdue: int
    oldest_overdue: datetime | None
    limited: bool
    erasing: bool
    created_at: datetime


class OwnerList(Answer):
    """A page of the owners, by name; `cursor` is the `after` of the next page."""

    EXAMPLE: ClassVar = {"owners": [OwnerFigures.EXAMPLE], "cursor": None}

    owners: list[OwnerFigures]
    cursor: str | None


class LimitsAndUse(Answer):
    """An owner's limits, and how much of them is used; 0 means no limit."""

    EXAMPLE: ClassVar = {
        "limits": {"jobs": 10000, "pushes_per_day": 500}, "used": {"jobs": 4, "stored_bytes": 512},
    }  # fmt: skip

    limits: Mapping[str, float | str]
    used: Mapping[str, int]


class TrailEntry(Answer):
    """One change: what was done, by whom, through which program, and what it changed."""

    EXAMPLE: ClassVar = {
        "number": 7, "at": UTC, "what": "paused", "job_id": 12, "actor": {"owner": "ann", "key_id": 3},
        "client": {"surface": "rest", "operation": "pause_job"}, "before": {"state": "active"},
        "after": {"state": "paused"}, "hash": "9f86d081884c7d65",
    }  # fmt: skip

    number: int
    at: datetime
    what: str
    job_id: int | None
    actor: Mapping[str, Any] | None
    client: Mapping[str, Any] | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    hash: str


class Trail(Answer):
    """The latest entries first; `cursor` is the `before` of the next page. Entries up to the number `archived_through`
    are in files that the operator keeps."""

    EXAMPLE: ClassVar = {"entries": [TrailEntry.EXAMPLE], "cursor": None, "archived_through": None}

    entries: list[TrailEntry]
    cursor: int | None
    archived_through: int | None


class RunEvent(Answer):
    """Something that happened to a run; pass `at` to continue listening after it."""

    EXAMPLE: ClassVar = {
        "at": UTC, "run_id": RUN, "job_id": JOB, "name": "stand-up", "scheduled_for": UTC, "verdict": "done",
        "attempt": 1, "reason": None, "error": None,
    }  # fmt: skip

    at: datetime
    run_id: str
    job_id: str
    name: str
    scheduled_for: datetime
    verdict: str
    attempt: int
    reason: str | None
    error: str | None
