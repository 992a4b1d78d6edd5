"""A job, its states, and the status that callers see."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, cast, get_args

from cronty.jobs.action import Action
from cronty.jobs.policy import Policy
from cronty.timing import Broken, Calendar, Changed, Cron, Interval, Once, SlotChange, Trigger, with_changes

JobState = Literal["active", "paused", "cancelled", "set_aside"]
Status = Literal["pending", "running", "completed", "failed", "cancelled"]
TriggerType = Literal["once", "interval", "cron", "calendar"]

_TYPES: Final[dict[type, TriggerType]] = {Once: "once", Interval: "interval", Cron: "cron", Calendar: "calendar"}
STATUSES: Final[tuple[Status, ...]] = get_args(Status)

UNDELETED_FOR: Final = timedelta(days=30)
"""How long a deleted job can be restored; after that it is removed with its runs."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its owner sees it. The owner uses `number`; `id` is global and internal.

    `next_slot` is None while the job is paused or if no slot follows. `held_slot` is the slot that was next when the
    job was paused, cancelled or deleted. `zone` is the zone its times are shown in, `said` the
    words its schedule was given in, if it was given in words. The job has no slot before
    `slots_after`: the time it was made or its trigger was changed, or its start if that is later. `deleted_from` is the
    state of a deleted job before it was deleted, used when it is restored.
    """

    id: int
    number: int
    owner: str
    name: str
    action: Action
    trigger: Trigger
    zone: str
    policy: Policy
    tags: tuple[str, ...]
    max_runs: int | None
    slots_after: datetime
    ends_at: datetime | None
    state: JobState
    reason: str | None
    next_slot: datetime | None
    held_slot: datetime | None
    last_slot: datetime | None
    last_run: datetime | None
    run_count: int
    manual_count: int
    failure_count: int
    cancelled_count: int
    failures_in_row: int
    last_error: str | None
    in_flight: int
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    deleted_from: JobState | None = None
    said: str | None = None
    changes: tuple[SlotChange, ...] = ()
    """What was said of single slots, once."""
    made_by: str | None = None
    """The agent whose token made it, or last changed it."""
    retry_error: str | None = None
    """Why its run that waits to be tried again has failed so far, if there is one."""
    untaken_since: datetime | None = None
    """Since when a run of it is due that no worker takes, if there is one."""

    @property
    def slots(self) -> Trigger | Changed:
        """What names its slots: its trigger, with what was said of single ones."""
        return with_changes(self.trigger, self.changes)

    @property
    def changes_to_come(self) -> tuple[SlotChange, ...]:
        coming = self.next_slot or self.held_slot
        return () if coming is None else tuple(each for each in self.changes if each.last >= coming)

    @property
    def status(self) -> Status:
        return status(
            self.state,
            in_flight=self.in_flight > 0,
            has_next=self.next_slot is not None,
            failing=self.failures_in_row > 0,
        )

    @property
    def trouble(self) -> str | None:
        """What is wrong with its run that waits to be tried again, or that no worker takes, in a sentence."""
        if self.retry_error is not None:
            return f"{failing_words(self.action.task)}: {self.retry_error}"
        if self.untaken_since is not None:
            return (
                f"{UNTAKEN} since {self.untaken_since:%Y-%m-%d %H:%M} UTC. One must be alive that has the task "
                f"{self.action.task}, serves its queue, and has room."
            )
        return None

    @property
    def trigger_type(self) -> TriggerType:
        return trigger_type(self.trigger)

    @property
    def next_run(self) -> datetime | None:
        """The next slot that runs: no day off takes it, and it isn't skipped or moved."""
        slot, slots = self.next_slot, self.slots
        if slot is None or not isinstance(slots, Calendar | Changed) or slots.taken(slot) is None:
            return slot
        return slots.open.after(slot)

    @property
    def fire_at(self) -> datetime | None:
        """The time a list sorts the job by: its next slot, or else its held or last one."""
        return self.next_slot or self.held_slot or self.last_slot

    @property
    def success_count(self) -> int:
        return max(0, self.run_count - self.failure_count - self.cancelled_count - self.in_flight)

    @property
    def remaining(self) -> int | None:
        """How many more slots `max_runs` allows; manual runs don't count."""
        return None if self.max_runs is None else max(0, self.max_runs - self.run_count + self.manual_count)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs to list; None means any. `name` matches a part of the name, `words` one of the name or of what the job
    says; `since` and `until` are inclusive; `health` is `failing`, `waiting`, `paused` or `finished`."""

    status: str | None = None
    name: str | None = None
    tag: str | None = None
    task: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    topic: str | None = None
    words: str | None = None
    health: str | None = None


def status(state: JobState, *, in_flight: bool, has_next: bool, failing: bool) -> Status:
    """The status that callers see, computed from the state of the job and of its runs.

    The SQL function `cronty.job_status` does the same, for filters; a test compares the two.
    """
    if state == "cancelled":
        return "cancelled"
    if in_flight:
        return "running"
    if state == "set_aside":
        return "failed"
    if has_next or state == "paused":
        return "pending"
    return "failed" if failing else "completed"


UNTAKEN: Final = "Waiting for a worker"
"""The first words about a run that no worker takes."""


def failing_words(task: str) -> str:
    """What to say of a run that has failed and is tried again, before why."""
    return f"{'Not getting out' if task == 'notify' else 'Failing'}, will be tried again"


def trigger_type(trigger: Trigger) -> TriggerType:
    if isinstance(trigger, Broken):
        return cast("TriggerType", trigger.stored["kind"])
    return _TYPES[type(trigger)]
