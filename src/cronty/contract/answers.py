"""Every answer. Times are aware datetimes, in the job's zone if there is one job, in the owner's in lists of several,
and ISO 8601 in JSON.

A field marked with `OMITTED` is left out of the JSON when it has its default value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, cast, dataclass_transform

from cronty.contract.requests import JOB, RUN
from cronty.contract.shape import Shape

AT: Final = "2026-11-16T09:00:00+01:00"
UTC: Final = "2026-11-16T08:00:00+00:00"
RECEIPT: Final = f"{RUN}#1"

OMITTED: Final = {"omitted": True}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Answer(Shape):
    """The base of all answers. Unknown fields are ignored, so that an older client can read a newer server."""

    __pydantic_config__ = {"extra": "ignore"}  # noqa: RUF012

    def __init_subclass__(cls) -> None:
        super().__init_subclass__(kw_only=True)


def to_json(value: object) -> Any:
    """An answer as JSON values."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [to_json(item) for item in cast("Sequence[object]", value)]
    if not is_dataclass(value):
        return value
    found = [(one, getattr(value, one.name)) for one in fields(value)]
    return {one.name: to_json(part) for one, part in found if not (one.metadata and part == one.default)}


# -- jobs ---------------------------------------------------------------------------------------------------------


class Moment(Answer):
    """A planned moment in the job's zone and in UTC; `note` if a clock change moves it."""

    EXAMPLE: ClassVar = {"local": AT, "utc": UTC}

    local: datetime
    utc: datetime
    note: str | None = field(default=None, metadata=OMITTED)


class ScheduledJob(Answer):
    """A job that was made or changed: its rule in words, its next three runs, and when it ends, if it does. `note` is
    what else to know, such as that its messages go to a public topic."""

    EXAMPLE: ClassVar = {
        "job_id": JOB, "name": "stand-up", "next_run": AT, "status": "pending",
        "schedule": "At 09:00 on weekdays, Berlin time", "timezone": "Europe/Berlin",
        "next_runs": [Moment.EXAMPLE], "version": 1,
    }  # fmt: skip

    job_id: str
    name: str
    next_run: datetime | None
    status: str
    schedule: str
    timezone: str
    next_runs: list[Moment]
    version: int
    max_runs: int | None = field(default=None, metadata=OMITTED)
    ends_at: datetime | None = field(default=None, metadata=OMITTED)
    note: str | None = field(default=None, metadata=OMITTED)


class JobSummary(Answer):
    """One job in a list, in the list's time zone; `timezone` is the job's own if it is another. `trouble` says why a
    run that will be tried again has failed so far, or that no worker takes it."""

    EXAMPLE: ClassVar = {
        "job_id": JOB, "name": "stand-up", "status": "pending", "trigger_type": "cron", "next_run": AT, "run_count": 4,
        "last_run": AT, "paused": False, "tags": ["team"], "said": "weekdays at 9", "task": "notify",
        "schedule": "At 09:00 on weekdays, Berlin time",
    }  # fmt: skip

    job_id: str
    name: str
    status: str
    trigger_type: str
    next_run: datetime | None
    run_count: int
    last_run: datetime | None
    paused: bool
    tags: list[str]
    said: str | None = field(default=None, metadata=OMITTED)
    timezone: str | None = field(default=None, metadata=OMITTED)
    task: str
    schedule: str
    max_runs: int | None = field(default=None, metadata=OMITTED)
    ends_at: datetime | None = field(default=None, metadata=OMITTED)
    trouble: str | None = field(default=None, metadata=OMITTED)


class JobList(Answer):
    """A page of jobs, with all times in the owner's `timezone`; `total` counts all that match, up to 10,000, `cursor`
    asks for the next page."""

    EXAMPLE: ClassVar = {"jobs": [JobSummary.EXAMPLE], "total": 1, "cursor": None, "timezone": "Europe/Berlin"}

    jobs: list[JobSummary]
    total: int
    cursor: str | None
    timezone: str


class Run(Answer):
    """One planned moment with its verdict and its reason; `slots` and `through` if it stands for several moments."""

    EXAMPLE: ClassVar = {
        "run_id": RUN, "scheduled_for": AT, "verdict": "done", "reason": None, "attempt": 1, "started_at": AT,
        "finished_at": AT, "error": None, "result": {"id": "xE73Iyuabi"},
    }  # fmt: skip

    run_id: str
    scheduled_for: datetime
    verdict: str
    reason: str | None
    attempt: int
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None
    result: Any
    next_attempt_at: datetime | None = field(default=None, metadata=OMITTED)
    slots: int = field(default=1, metadata=OMITTED)
    through: datetime | None = field(default=None, metadata=OMITTED)
    manual: bool = field(default=False, metadata=OMITTED)
    moved_from: str | None = field(default=None, metadata=OMITTED)


class ChangedSlot(Answer):
    """A planned run that is skipped or, with `to`, moved, and who asked for it."""

    EXAMPLE: ClassVar = {"slot": AT, "to": None, "why": "asked for by ann"}

    slot: datetime
    to: datetime | None
    why: str


class JobDetail(Answer):
    """One job in full: what it does (`args`, `kwargs`), how (`policy`, where it differs from the usual one), and its
    last ten runs. `trouble` says why a run that will be tried again has failed so far, or that no worker takes it."""

    EXAMPLE: ClassVar = {
        "job_id": JOB, "name": "stand-up", "status": "pending", "trigger_type": "cron", "created_at": AT,
        "last_run": AT, "next_run": AT, "run_count": 4, "max_runs": None, "error": None, "paused": False,
        "paused_because": None, "schedule": "At 09:00 on weekdays, Berlin time", "timezone": "Europe/Berlin",
        "said": "weekdays at 9", "task": "notify", "kwargs": {"message": "Stand-up", "topic": "phone"},
        "policy": {"attempts": 10}, "tags": ["team"], "success_count": 4, "failure_count": 0, "version": 1,
        "runs": [Run.EXAMPLE],
    }  # fmt: skip

    job_id: str
    name: str
    status: str
    trigger_type: str
    created_at: datetime
    last_run: datetime | None
    next_run: datetime | None
    run_count: int
    max_runs: int | None
    error: str | None
    paused: bool
    paused_because: str | None
    schedule: str
    said: str | None = field(default=None, metadata=OMITTED)
    timezone: str
    task: str
    args: Sequence[Any] | None = field(default=None, metadata=OMITTED)
    kwargs: Mapping[str, Any] | None = field(default=None, metadata=OMITTED)
    policy: Mapping[str, Any] | None = field(default=None, metadata=OMITTED)
    ends_at: datetime | None = field(default=None, metadata=OMITTED)
    tags: list[str]
    success_count: int
    failure_count: int
    version: int
    changed_slots: list[ChangedSlot] | None = field(default=None, metadata=OMITTED)
    trouble: str | None = field(default=None, metadata=OMITTED)
    runs: list[Run]


class StartedRun(Answer):
    """A run that was asked for."""

    EXAMPLE: ClassVar = {"run_id": RUN, "job_id": JOB}

    run_id: str
    job_id: str


class Backfill(Answer):
    """The slots of a job that are run after their time, or would be: `slots` in the job's `timezone`, with what was
    known of them (`before`), how many were left out and why, and what that costs. `next_from` is where the rest of the
    range begins if it has more slots than one call takes."""

    EXAMPLE: ClassVar = {
        "job_id": JOB, "timezone": "Europe/Berlin", "dry_run": True, "as_of": AT, "runs": 1, "first": AT, "last": AT,
        "slots": [AT], "before": {"missed": 1}, "left_out": {"done": 6},
        "costs": ["Started over 1 s or more, between what is planned."], "next_from": None,
    }  # fmt: skip

    job_id: str
    timezone: str
    dry_run: bool
    as_of: datetime
    runs: int
    first: datetime | None
    last: datetime | None
    slots: list[datetime]
    before: Mapping[str, int]
    left_out: Mapping[str, int]
    costs: list[str]
    next_from: datetime | None
    note: str | None = field(default=None, metadata=OMITTED)


class DeletedJob(Answer):
    """A job that can be brought back, and until when."""

    EXAMPLE: ClassVar = {
        "job_id": JOB, "name": "stand-up", "schedule": "At 09:00 on weekdays, Berlin time", "run_count": 4,
        "tags": ["team"], "deleted_at": AT, "until": AT,
    }  # fmt: skip

    job_id: str
    name: str
    schedule: str
    run_count: int
    tags: list[str]
    deleted_at: datetime
    until: datetime


class DeletedJobs(Answer):
    """Deleted jobs, the latest first, with all times in the owner's `timezone`; `cursor` is the `before` of the next
    page."""

    EXAMPLE: ClassVar = {"jobs": [DeletedJob.EXAMPLE], "cursor": None, "timezone": "Europe/Berlin"}

    jobs: list[DeletedJob]
    cursor: datetime | None
    timezone: str


# -- runs ---------------------------------------------------------------------------------------------------------


class RunList(Answer):
    """Runs of one job, newest first, with all times in the job's `timezone`; `cursor` is the `before` of the next
    page."""

    EXAMPLE: ClassVar = {"job_id": JOB, "runs": [Run.EXAMPLE], "cursor": None, "timezone": "Europe/Berlin"}

    job_id: str
    runs: list[Run]
    cursor: datetime | None
    timezone: str


class NamedJob(Answer):
    """Which job something belongs to."""

    job_id: str
    name: str


class RunOfJob(Run, NamedJob):
    """A run that names its job."""

    EXAMPLE: ClassVar = {"job_id": JOB, "name": "stand-up", **Run.EXAMPLE}


class FailedRuns(Answer):
    """What failed for good, the latest first, with all times in the owner's `timezone`; `cursor` is the `before` of the
    next page."""

    EXAMPLE: ClassVar = {
        "runs": [{**RunOfJob.EXAMPLE, "verdict": "failed", "error": "no luck", "result": None}], "cursor": None,
        "timezone": "Europe/Berlin",
    }  # fmt: skip

    runs: list[RunOfJob]
    cursor: str | None
    timezone: str


class Attempt(Answer):
    """An attempt before the run's last."""

    EXAMPLE: ClassVar = {"attempt": 1, "started_at": AT, "ended_at": AT, "outcome": "failed", "error": "503 from ntfy"}

    attempt: int
    started_at: datetime | None
    ended_at: datetime
    outcome: str
    error: str | None


class Telling(Answer):
    """Where a run's result was sent, and how that went: `waiting`, `delivered`, `failed`, or not sent because it was
    `quiet` or `unchanged`."""

    EXAMPLE: ClassVar = {"channel": "phone", "state": "delivered", "tries": 1, "error": None, "told_at": AT}

    channel: str
    state: str
    tries: int
    error: str | None
    told_at: datetime | None


class RunDetail(RunOfJob):
    """A run in full; `attempts` are those before its last. `told` if its job's policy has `tell`."""

    EXAMPLE: ClassVar = {**RunOfJob.EXAMPLE, "attempts": [Attempt.EXAMPLE]}

    attempts: list[Attempt]
    told: Telling | None = field(default=None, metadata=OMITTED)


class RedrivenRuns(Answer):
    """`refused` are runs that didn't fail, are gone, or don't exist."""

    EXAMPLE: ClassVar = {"redriven": [RUN], "refused": []}

    redriven: list[str]
    refused: list[str]
    hint: str | None = field(default=None, metadata=OMITTED)


# -- time ---------------------------------------------------------------------------------------------------------


class SchedulePreview(Answer):
    """What a schedule means: in words, and its next moments."""

    EXAMPLE: ClassVar = {
        "schedule": "At 09:00 on weekdays, Berlin time", "timezone": "Europe/Berlin", "slots": [Moment.EXAMPLE],
    }  # fmt: skip

    schedule: str
    timezone: str
    slots: list[Moment]
    note: str | None = field(default=None, metadata=OMITTED)


class CurrentTime(Answer):
    """The current time, in a zone and in UTC."""

    EXAMPLE: ClassVar = {
        "datetime": AT, "date": "2026-11-16", "time": "09:00:00", "timezone": "Europe/Berlin", "utc": UTC,
        "timestamp_ms": 1794816000000,
    }  # fmt: skip

    datetime: "datetime"
    date: str
    time: str
    timezone: str
    utc: "datetime"
    timestamp_ms: int


class TaskDetail(Answer):
    """A task that can be scheduled; `parameters` is the JSON schema of its arguments."""

    EXAMPLE: ClassVar = {"name": "run_backup", "parameters": {"type": "object"}, "doc": "Back a folder up."}

    name: str
    parameters: Mapping[str, Any]
    doc: str


class TaskList(Answer):
    """What can be scheduled."""

    EXAMPLE: ClassVar = {"tasks": [TaskDetail.EXAMPLE]}

    tasks: list[TaskDetail]
