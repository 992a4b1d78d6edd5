"""Every answer. Times are aware datetimes, in the job's zone if there is a job, and ISO 8601 in JSON.

A field marked with `OMITTED` is left out of the JSON when it has its default value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, cast

from cronty.contract.requests import JOB, RUN

AT: Final = "2026-11-16T09:00:00+01:00"
UTC: Final = "2026-11-16T08:00:00+00:00"
RECEIPT: Final = f"{RUN}#1"

OMITTED: Final = {"omitted": True}


class Answer:
    """The base of all answers. Unknown fields are ignored, so that an older client can read a newer server."""

    __pydantic_config__ = {"extra": "ignore"}  # noqa: RUF012


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


@dataclass(frozen=True, kw_only=True)
class Moment(Answer):
    """A planned moment in the job's zone and in UTC; `note` if a clock change moves it."""

    EXAMPLE: ClassVar = {"local": AT, "utc": UTC}

    local: datetime
    utc: datetime
    note: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class ScheduledJob(Answer):
    """A job that was made or changed: its rule in words, and its next three runs."""

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


@dataclass(frozen=True, kw_only=True)
class JobSummary(Answer):
    """One job in a list."""

    EXAMPLE: ClassVar = {
        "job_id": JOB, "name": "stand-up", "status": "pending", "trigger_type": "cron", "next_run": AT, "run_count": 4,
        "last_run": AT, "paused": False, "tags": ["team"], "said": "weekdays at 9",
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


@dataclass(frozen=True, kw_only=True)
class JobList(Answer):
    """A page of jobs; `total` counts all that match, up to 10,000, `cursor` asks for the next page."""

    EXAMPLE: ClassVar = {"jobs": [JobSummary.EXAMPLE], "total": 1, "cursor": None}

    jobs: list[JobSummary]
    total: int
    cursor: str | None


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class ChangedSlot(Answer):
    """A planned run that is skipped or, with `to`, moved, and who asked for it."""

    EXAMPLE: ClassVar = {"slot": AT, "to": None, "why": "asked for by ann"}

    slot: datetime
    to: datetime | None
    why: str


@dataclass(frozen=True, kw_only=True)
class JobDetail(Answer):
    """One job in full, with its last ten runs."""

    EXAMPLE: ClassVar = {
        "job_id": JOB, "name": "stand-up", "status": "pending", "trigger_type": "cron", "created_at": AT,
        "last_run": AT, "next_run": AT, "run_count": 4, "max_runs": None, "error": None, "paused": False,
        "paused_because": None, "schedule": "At 09:00 on weekdays, Berlin time", "timezone": "Europe/Berlin",
        "said": "weekdays at 9", "task": "notify", "tags": ["team"], "success_count": 4, "failure_count": 0,
        "version": 1, "runs": [Run.EXAMPLE],
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
    tags: list[str]
    success_count: int
    failure_count: int
    version: int
    changed_slots: list[ChangedSlot] | None = field(default=None, metadata=OMITTED)
    runs: list[Run]


@dataclass(frozen=True, kw_only=True)
class StartedRun(Answer):
    """A run that was asked for."""

    EXAMPLE: ClassVar = {"run_id": RUN, "job_id": JOB}

    run_id: str
    job_id: str


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class DeletedJobs(Answer):
    """Deleted jobs, the latest first; `cursor` is the `before` of the next page."""

    EXAMPLE: ClassVar = {"jobs": [DeletedJob.EXAMPLE], "cursor": None}

    jobs: list[DeletedJob]
    cursor: datetime | None


# -- runs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RunList(Answer):
    """Runs of one job, newest first; `cursor` is the `before` of the next page."""

    EXAMPLE: ClassVar = {"job_id": JOB, "runs": [Run.EXAMPLE], "cursor": None}

    job_id: str
    runs: list[Run]
    cursor: datetime | None


@dataclass(frozen=True, kw_only=True)
class NamedJob(Answer):
    """Which job something belongs to."""

    job_id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class RunOfJob(Run, NamedJob):
    """A run that names its job."""

    EXAMPLE: ClassVar = {"job_id": JOB, "name": "stand-up", **Run.EXAMPLE}


@dataclass(frozen=True, kw_only=True)
class FailedRuns(Answer):
    """What failed for good, the latest first; `cursor` is the `before` of the next page."""

    EXAMPLE: ClassVar = {
        "runs": [{**RunOfJob.EXAMPLE, "verdict": "failed", "error": "no luck", "result": None}], "cursor": None,
    }  # fmt: skip

    runs: list[RunOfJob]
    cursor: str | None


@dataclass(frozen=True, kw_only=True)
class Attempt(Answer):
    """An attempt before the run's last."""

    EXAMPLE: ClassVar = {"attempt": 1, "started_at": AT, "ended_at": AT, "outcome": "failed", "error": "503 from ntfy"}

    attempt: int
    started_at: datetime | None
    ended_at: datetime
    outcome: str
    error: str | None


@dataclass(frozen=True, kw_only=True)
class RunDetail(RunOfJob):
    """A run in full; `attempts` are those before its last."""

    EXAMPLE: ClassVar = {**RunOfJob.EXAMPLE, "attempts": [Attempt.EXAMPLE]}

    attempts: list[Attempt]


@dataclass(frozen=True, kw_only=True)
class RedrivenRuns(Answer):
    """`refused` are runs that didn't fail, are gone, or don't exist."""

    EXAMPLE: ClassVar = {"redriven": [RUN], "refused": []}

    redriven: list[str]
    refused: list[str]
    hint: str | None = field(default=None, metadata=OMITTED)


# -- time ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SchedulePreview(Answer):
    """What a schedule means: in words, and its next moments."""

    EXAMPLE: ClassVar = {
        "schedule": "At 09:00 on weekdays, Berlin time", "timezone": "Europe/Berlin", "slots": [Moment.EXAMPLE],
    }  # fmt: skip

    schedule: str
    timezone: str
    slots: list[Moment]
    note: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class TaskDetail(Answer):
    """A task that can be scheduled; `parameters` is the JSON schema of its arguments."""

    EXAMPLE: ClassVar = {"name": "run_backup", "parameters": {"type": "object"}, "doc": "Back a folder up."}

    name: str
    parameters: Mapping[str, Any]
    doc: str


@dataclass(frozen=True, kw_only=True)
class TaskList(Answer):
    """What can be scheduled."""

    EXAMPLE: ClassVar = {"tasks": [TaskDetail.EXAMPLE]}

    tasks: list[TaskDetail]
