"""What a person looks at: slots before and behind now, how late they started, what needs attention, who works."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from heapq import heapify, heappop, heapreplace
from typing import Final, Literal

from cronty.timing import Trigger

Verdict = Literal[
    "planned", "waiting", "running", "done", "failed", "cancelled", "skipped", "coalesced", "missed", "quarantined"
]
"""What became of a slot: the states of a run, and `planned` for one whose time has not come."""

MOST_COUNTED: Final = 10_000
"""Where counting stops; a count that has come so far means "at least"."""

MOST_DRAWN: Final = 400
"""How many slots a timeline names one by one; of more it only counts."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned moment of one job, with its verdict."""

    job_number: int
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

    `planned_through` is how far planned slots were counted: less far than `until` if there are too many of them. A row
    that speaks for many slots is counted where its first one is.
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
    job_number: int
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
    """Something that happened to a run, and when; a worker that was cut off may write it down later than others."""

    at: datetime
    run_id: str
    job_number: int
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
    """The whole installation, in numbers that name no owner; each, and each bin, is counted up to `MOST_COUNTED`."""

    now: datetime
    workers: list[WorkerLook] = field(default_factory=list["WorkerLook"])
    waiting: int = 0
    running: int = 0
    overdue: int = 0
    """Slots whose time has passed and that nobody has fired yet."""
    oldest_overdue: datetime | None = None
    throughput: list[Bin] = field(default_factory=list[Bin])
    """Verdicts of the last minutes."""
    lag: list[Lag] = field(default_factory=list[Lag])
    """How late slots started that were done in the same bins."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What is needed of a job to say when it fires: from `next_slot` on, `remaining` times or without an end."""

    job_number: int
    name: str
    trigger: Trigger
    next_slot: datetime
    ends_at: datetime | None
    remaining: int | None

    def then(self) -> "Planned | None":
        """The job as it will be when its next slot has passed."""
        remaining = None if self.remaining is None else self.remaining - 1
        following = None if remaining is not None and remaining <= 0 else self.trigger.after(self.next_slot)
        if following is None or (self.ends_at is not None and following > self.ends_at):
            return None
        return replace(self, next_slot=following, remaining=remaining)


def planned_slots(jobs: Iterable[Planned], until: datetime) -> Iterator[Slot]:
    """What the jobs will fire before `until`, in order of time."""
    ahead = [(job.next_slot, job.job_number, job) for job in jobs]
    heapify(ahead)
    while ahead and ahead[0][0] < until:
        at, number, job = ahead[0]
        yield Slot(number, job.name, at, "planned")
        following = job.then()
        if following is None:
            heappop(ahead)
        else:
            heapreplace(ahead, (following.next_slot, number, following))


def bins_of(
    since: datetime, until: datetime, width: timedelta, counted: Iterable[tuple[datetime, Verdict, int]]
) -> list[Bin]:
    """What was counted, each at its moment, in bins without a gap."""
    bins = [Bin(since + number * width, {}) for number in range(-((since - until) // width))]
    for at, verdict, slots in counted:
        verdicts = bins[(at - since) // width].verdicts
        verdicts[verdict] = verdicts.get(verdict, 0) + slots
    return bins
