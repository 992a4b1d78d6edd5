"""What the dashboard shows: past and planned slots, how late they started, what needs attention, and the workers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from heapq import heapify, heappop, heapreplace
from itertools import pairwise
from typing import Final, Literal

from cronty.jobs.frozen import Frozen
from cronty.jobs.run import RunState
from cronty.timing import Calendar, Changed, Trigger
from cronty.timing.offsets import TICK

Verdict = Literal["planned", RunState]
"""The state of a slot: that of its run, or `planned` if its time hasn't come."""

MOST_OF_OWNER: Final = 1000
"""Up to which number an owner's runs are counted in a list of all owners, and of how many of its jobs."""

MAX_COUNTED: Final = 10_000
"""Counting stops here: a count this high means "at least"."""

MAX_DRAWN: Final = 150
"""A timeline with more slots than this, besides those of jobs that come often, shows only counts."""

OFTEN: Final = 12
"""A job with more slots a day than this comes often: it is counted instead of drawn slot by slot."""


MAX_AHEAD: Final = 2000
MAX_OFTEN: Final = 40
"""How many planned slots, and how many jobs that come often, a week shows at most."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned moment of one job, with its verdict."""

    job_number: int
    name: str
    scheduled_for: datetime
    verdict: Verdict
    reason: str | None = None
    task: str = ""
    moved_from: datetime | None = None
    """The slot that was moved to this time, this once."""


@dataclass(frozen=True, slots=True)
class Bin:
    """How many slots there are from `start` until the next bin starts, by verdict."""

    start: datetime
    verdicts: dict[Verdict, int]


@dataclass(frozen=True, slots=True)
class Timeline:
    """`bins` cover `since` to `until` without a gap, each `width` long; `slots` is None if there are too many.

    `slots` are those of jobs that come seldom; those of the `often_jobs` jobs that come often are counted in `often`.
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
    often: list[Bin] = field(default_factory=list[Bin])
    often_jobs: int = 0


@dataclass(frozen=True, slots=True)
class Frequent:
    """A job that comes often, with its slots counted by day."""

    job_number: int
    name: str
    task: str
    bins: list[Bin]


@dataclass(frozen=True, slots=True)
class Week:
    """The slots of some days, one by one, and those of jobs that come often by day.

    `cut` if there are more than could be read.
    """

    now: datetime
    slots: list[Slot]
    often: list[Frequent]
    cut: bool


@dataclass(frozen=True, slots=True)
class LatestRun:
    """One of the latest runs of a job, for its health at a glance."""

    scheduled_for: datetime
    verdict: Verdict
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What a run has answered; `is_text` if in words, else it is JSON. `agent` is set for a prompt to an agent."""

    job_number: int
    name: str
    task: str
    agent: str
    scheduled_for: datetime
    finished_at: datetime
    said: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class JobCounts:
    """How many jobs fail, wait for an agent, are paused, and have ended; of very many, only the latest are counted."""

    failing: int
    waiting: int
    paused: int
    finished: int


@dataclass(frozen=True, slots=True)
class Lag:
    """How late slots started, in seconds; None in a bin where nothing started."""

    start: datetime
    p50: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Concern:
    """A job that needs attention: it is paused, set aside, failing, being tried again or overdue.

    `failed_slot` is the one that failed last, if it fails; `ended` if it has no next slot.
    """

    kind: Literal["paused", "set_aside", "failing", "retrying", "overdue"]
    job_number: int
    name: str
    what: str
    since: datetime | None
    task: str = ""
    failures: int = 0
    ended: bool = False
    failed_slot: datetime | None = None


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
    job_id: str
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
class OwnerUse:
    """What an owner has and uses: jobs and bytes as they were last counted, runs up to `MOST_OF_OWNER`. `limits` are
    its own, if any; `used` is counted by what, in the hour, minute or day that its limit is for."""

    name: str
    jobs: int
    stored_bytes: int
    limits: Mapping[str, object] | None
    erasing: bool
    created_at: datetime
    running: int
    failed: int
    in_hour: int
    in_day: int
    overdue: int
    oldest_overdue: datetime | None
    used: Mapping[str, int]


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
    frozen: Frozen | None = None
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
    task: str = ""

    @property
    def moved_from(self) -> datetime | None:
        return self.trigger.moved_here(self.next_slot) if isinstance(self.trigger, Changed) else None

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
        yield Slot(number, job.name, at, "planned", job.taken, job.task, job.moved_from)
        following = job.then()
        if following is None:
            heappop(ahead)
        else:
            heapreplace(ahead, (following.next_slot, number, following))


def frequent(slots: Iterable[tuple[Slot, int]], days: float) -> set[int]:
    """The jobs that come often; each slot with how many it stands for."""
    counted: dict[int, int] = {}
    for slot, count in slots:
        counted[slot.job_number] = counted.get(slot.job_number, 0) + count
    return {number for number, count in counted.items() if count > OFTEN * days}


@dataclass(frozen=True, slots=True)
class Ahead:
    """Planned slots of a range, and the counts of jobs that come often; `cut` if there are too many of either."""

    slots: list[Slot]
    often: list[Frequent]
    cut: bool


def week_ahead(jobs: Iterable[Planned], starts: Sequence[datetime]) -> Ahead:
    """The planned slots of some days, which start at `starts`; the last one is where they end.

    A job that comes often is counted by the day, which costs no walk.
    """
    slots: list[Slot] = []
    often: list[Frequent] = []
    cut = False
    for job in jobs:
        first = max(job.next_slot, starts[0])
        last = starts[-1] - TICK if job.ends_at is None else min(starts[-1] - TICK, job.ends_at)
        if first > last:
            continue
        if job.trigger.count(first, last) > OFTEN * (len(starts) - 1):
            if len(often) == MAX_OFTEN:
                cut = True
                continue
            often.append(Frequent(job.job_number, job.name, job.task, list(_by_day(job, starts, first, last))))
        elif len(slots) < MAX_AHEAD:
            slots += _one_by_one(job, starts[0], last)
        else:
            cut = True
    return Ahead(slots, often, cut)


def _by_day(job: Planned, starts: Sequence[datetime], first: datetime, last: datetime) -> Iterator[Bin]:
    left = job.remaining
    for start, end in pairwise(starts):
        if end <= first or start > last or left == 0:
            yield Bin(start, {})
            continue
        count = job.trigger.count(max(start, first), min(end - TICK, last))
        count = count if left is None else min(count, left)
        left = None if left is None else left - count
        yield Bin(start, {"planned": count} if count else {})


def _one_by_one(job: Planned, since: datetime, last: datetime) -> Iterator[Slot]:
    following: Planned | None = _from(job, since)
    while following is not None and following.next_slot <= last:
        at = following.next_slot
        yield Slot(job.job_number, job.name, at, "planned", following.taken, job.task, following.moved_from)
        following = following.then()


def _from(job: Planned, since: datetime) -> Planned | None:
    """The same job at its first slot of the range, without a walk there."""
    if job.next_slot >= since:
        return job
    left = None if job.remaining is None else job.remaining - job.trigger.count(job.next_slot, since - TICK)
    start = job.trigger.after(since - TICK)
    return None if start is None or (left is not None and left <= 0) else replace(job, next_slot=start, remaining=left)


def bins_of(
    since: datetime, until: datetime, width: timedelta, counted: Iterable[tuple[datetime, Verdict, int]]
) -> list[Bin]:
    """Sorts counts into bins that cover `since` to `until` without a gap."""
    bins = [Bin(since + number * width, {}) for number in range(-((since - until) // width))]
    for at, verdict, slots in counted:
        verdicts = bins[(at - since) // width].verdicts
        verdicts[verdict] = verdicts.get(verdict, 0) + slots
    return bins
