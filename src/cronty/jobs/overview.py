"""What a person looks at: slots before and behind now, how late they started, what needs attention, who works."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Final, Literal

Verdict = Literal[
    "planned", "waiting", "running", "done", "failed", "cancelled", "skipped", "coalesced", "missed", "quarantined"
]
"""What became of a slot: the states of a run, and `planned` for one whose time has not come."""

MOST_DRAWN: Final = 400
"""How many slots a timeline names one by one; of more it only counts."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned moment of one job, with its verdict."""

    job_id: int
    name: str
    scheduled_for: datetime
    verdict: Verdict
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Bin:
    """The slots from `start` on, until the next bin starts."""

    start: datetime
    verdicts: dict[Verdict, int]


@dataclass(frozen=True, slots=True)
class Timeline:
    """`bins` cover `since` to `until` without a gap, each `width` long; `slots` is None when there are too many.

    `planned_through` is how far planned slots were counted: earlier than `until` if the jobs fire too often to
    count them all.
    """

    since: datetime
    now: datetime
    until: datetime
    width: timedelta
    bins: list[Bin]
    slots: list[Slot] | None
    planned_through: datetime


@dataclass(frozen=True, slots=True)
class Lag:
    """How long slots waited from their time to their start, in seconds; None in a bin where nothing started."""

    start: datetime
    p50: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Concern:
    """Something a person should look at: a job that is held, or fails, or a run that failed for good."""

    kind: Literal["paused", "set_aside", "failing", "overdue"]
    job_id: int
    name: str
    what: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Concerns:
    """The latest of each kind, and how many there are in all."""

    items: list[Concern]
    total: int


@dataclass(frozen=True, slots=True)
class Day:
    """A day in the job's own zone."""

    date: date
    verdicts: dict[Verdict, int]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something that happened to a run. `at` rises from event to event; ask for what came after it."""

    at: datetime
    run_id: str
    job_id: int
    name: str
    scheduled_for: datetime
    verdict: Verdict
    attempt: int
    reason: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class WorkerLook:
    id: int
    name: str
    version: str
    tzdata: str
    concurrency: int
    running: int
    started_at: datetime
    beat_at: datetime
    lease_until: datetime
    alive: bool


@dataclass(frozen=True, slots=True)
class Fleet:
    """The whole installation, in numbers that name no owner."""

    now: datetime
    workers: list[WorkerLook] = field(default_factory=list["WorkerLook"])
    waiting: int = 0
    running: int = 0
    overdue: int = 0
    """Slots whose time has passed and that nobody has fired yet."""
    oldest_overdue: datetime | None = None
    throughput: list[Bin] = field(default_factory=list[Bin])
    """Verdicts for each minute of the last hour."""
    lag: list[Lag] = field(default_factory=list[Lag])
