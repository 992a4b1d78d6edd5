"""What the dashboard shows: past and planned slots, how late they started, what needs attention, and the workers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from heapq import heapify, heappop, heapreplace
from typing import Final, Literal

from cronty.timing import Calendar, Changed, Trigger

Verdict = Literal[
    "planned", "waiting", "running", "done", "failed", "cancelled", "skipped", "coalesced", "missed", "quarantined"
]
"""The state of a slot: that of its run, or `planned` if its time hasn't come."""

MAX_COUNTED: Final = 10_000
"""Counting stops here: a count this high means "at least"."""

MAX_DRAWN: Final = 400
"""A timeline with more slots than this shows only counts."""


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
    """How many slots there are from `start` until the next bin starts, by verdict."""

    start: datetime
    verdicts: dict[Verdict, int]


@dataclass(frozen=True, slots=True)
class Timeline:
    """`bins` cover `since` to `until` without a gap, each `width` long; `slots` is None if there are too many.

    Planned slots were counted up to `planned_through`, which is before `until` if there are too many of them. A run row
    that covers a range of slots is counted at the first one.
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
    """How late slots started, in seconds; None in a bin where nothing started."""

    start: datetime
    p50: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Concern:
    """A job that needs attention: it is paused, set aside, failing or overdue."""

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
    """A change of a run. A worker that was disconnected may write it late, so events can arrive out of order."""

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
    """Totals for the whole installation, without owners. Each total and each bin is counted up to `MAX_COUNTED`."""

    now: datetime
    workers: list[WorkerLook] = field(default_factory=list["WorkerLook"])
    waiting: int = 0
    running: int = 0
    overdue: int = 0
    """Slots whose time has passed and that haven't been fired."""
    oldest_overdue: datetime | None = None
    throughput: list[Bin] = field(default_factory=list[Bin])
    """Verdicts of the last few minutes."""
    lag: list[Lag] = field(default_factory=list[Lag])
    """How late the slots in the same bins started."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What is needed to compute a job's slots: they start at `next_slot`; `remaining` is how many, None for no end."""

    job_number: int
    name: str
    trigger: Trigger | Changed
    next_slot: datetime
    ends_at: datetime | None
    remaining: int | None

    @property
    def taken(self) -> str | None:
        """Why its next slot won't run, if that is known: a day off, or it was skipped or moved."""
        return self.trigger.taken(self.next_slot) if isinstance(self.trigger, Calendar | Changed) else None

    def then(self) -> "Planned | None":
        """The same job after its next slot has fired; None if no slot follows."""
        remaining = None if self.remaining is None else self.remaining - (self.taken is None)
        following = None if remaining is not None and remaining <= 0 else self.trigger.after(self.next_slot)
        if following is None or (self.ends_at is not None and following > self.ends_at):
            return None
        return replace(self, next_slot=following, remaining=remaining)


def planned_slots(jobs: Iterable[Planned], until: datetime) -> Iterator[Slot]:
    """All slots of the jobs before `until`, in time order."""
    ahead = [(job.next_slot, job.job_number, job) for job in jobs]
    heapify(ahead)
    while ahead and ahead[0][0] < until:
        at, number, job = ahead[0]
        yield Slot(number, job.name, at, "planned", job.taken)
        following = job.then()
        if following is None:
            heappop(ahead)
        else:
            heapreplace(ahead, (following.next_slot, number, following))


def bins_of(
    since: datetime, until: datetime, width: timedelta, counted: Iterable[tuple[datetime, Verdict, int]]
) -> list[Bin]:
    """Sorts counts into bins that cover `since` to `until` without a gap."""
    bins = [Bin(since + number * width, {}) for number in range(-((since - until) // width))]
    for at, verdict, slots in counted:
        verdicts = bins[(at - since) // width].verdicts
        verdicts[verdict] = verdicts.get(verdict, 0) + slots
    return bins
