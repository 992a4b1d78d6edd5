"""The shapes of answers, for the OpenAPI page; a conformance run holds what is really answered to them."""

from typing import Any, Final

from pydantic import BaseModel, ConfigDict

JOB: Final = "job_12_1794729600"
RUN: Final = "run_12_1794816000000000"
AT: Final = "2026-11-16T09:00:00+01:00"
UTC: Final = "2026-11-16T08:00:00+00:00"


def like(**example: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


class Moment(BaseModel):
    """A planned moment in the job's zone and in UTC; `note` if a clock change moves it."""

    model_config = like(local=AT, utc=UTC)

    local: str
    utc: str
    note: str | None = None


_SCHEDULED: Final = {
    "job_id": JOB, "name": "stand-up", "next_run": AT, "status": "pending",
    "schedule": "At 09:00 on weekdays, Berlin time", "timezone": "Europe/Berlin",
    "next_runs": [{"local": AT, "utc": UTC}], "version": 1,
}  # fmt: skip


class Scheduled(BaseModel):
    """A job that was made or changed: its rule in words, and its next three runs."""

    model_config = like(**_SCHEDULED)

    job_id: str
    name: str
    next_run: str | None
    status: str
    schedule: str
    timezone: str
    next_runs: list[Moment]
    version: int


_SUMMARY: Final = {
    "job_id": JOB, "name": "stand-up", "status": "pending", "trigger_type": "cron", "next_run": AT, "run_count": 4,
    "last_run": AT, "paused": False, "tags": ["team"],
}  # fmt: skip


class JobSummary(BaseModel):
    model_config = like(**_SUMMARY)

    job_id: str
    name: str
    status: str
    trigger_type: str
    next_run: str | None
    run_count: int
    last_run: str | None
    paused: bool
    tags: list[str]


class JobList(BaseModel):
    """A page of jobs; `total` counts all that match, up to 10,000, `cursor` asks for the next page."""

    model_config = like(jobs=[_SUMMARY], total=1, cursor=None)

    jobs: list[JobSummary]
    total: int
    cursor: str | None


_DELETED: Final = {
    "job_id": JOB, "name": "stand-up", "schedule": "At 09:00 on weekdays, Berlin time", "run_count": 4,
    "tags": ["team"], "deleted_at": AT, "until": AT,
}  # fmt: skip


class DeletedJob(BaseModel):
    """A job that can be brought back, and until when."""

    model_config = like(**_DELETED)

    job_id: str
    name: str
    schedule: str
    run_count: int
    tags: list[str]
    deleted_at: str
    until: str


class DeletedJobs(BaseModel):
    """Deleted jobs, the latest first; `cursor` is the `before` of the next page."""

    model_config = like(jobs=[_DELETED], cursor=None)

    jobs: list[DeletedJob]
    cursor: str | None


_RUN: Final = {
    "run_id": RUN, "scheduled_for": AT, "verdict": "done", "reason": None, "attempt": 1, "started_at": AT,
    "finished_at": AT, "error": None, "result": {"id": "xE73Iyuabi"},
}  # fmt: skip


class Run(BaseModel):
    """One planned moment with its verdict and the reason for it; `slots` and `through` if it speaks for several."""

    model_config = like(**_RUN)

    run_id: str
    scheduled_for: str
    verdict: str
    reason: str | None
    attempt: int
    started_at: str | None
    finished_at: str | None
    error: str | None
    result: Any
    next_attempt_at: str | None = None
    slots: int | None = None
    through: str | None = None
    manual: bool | None = None
    moved_from: str | None = None


class Job(BaseModel):
    """One job in full, with its last ten runs."""

    model_config = like(
        job_id=JOB, name="stand-up", status="pending", trigger_type="cron", created_at=AT, last_run=AT, next_run=AT,
        run_count=4, max_runs=None, error=None, paused=False, paused_because=None,
        schedule="At 09:00 on weekdays, Berlin time", timezone="Europe/Berlin", task="notify", tags=["team"],
        success_count=4, failure_count=0, version=1, runs=[_RUN],
    )  # fmt: skip

    job_id: str
    name: str
    status: str
    trigger_type: str
    created_at: str
    last_run: str | None
    next_run: str | None
    run_count: int
    max_runs: int | None
    error: str | None
    paused: bool
    paused_because: str | None
    schedule: str
    timezone: str
    task: str
    tags: list[str]
    success_count: int
    failure_count: int
    version: int
    runs: list[Run]


class Runs(BaseModel):
    """Runs of one job, newest first; `cursor` is the `before` of the next page."""

    model_config = like(job_id=JOB, runs=[_RUN], cursor=None)

    job_id: str
    runs: list[Run]
    cursor: str | None


class RunOfJob(Run):
    """A run that names its job."""

    model_config = like(job_id=JOB, name="stand-up", **_RUN)

    job_id: str
    name: str


class Attempt(BaseModel):
    """An attempt before the run's last."""

    model_config = like(attempt=1, started_at=AT, ended_at=AT, outcome="failed", error="503 from ntfy")

    attempt: int
    started_at: str | None
    ended_at: str
    outcome: str
    error: str | None


class RunDetail(RunOfJob):
    """A run in full: the attempts before its last stand in `attempts`."""

    model_config = like(job_id=JOB, name="stand-up", attempts=[], **_RUN)

    attempts: list[Attempt]


class FailedRuns(BaseModel):
    """What failed for good, the latest first; `cursor` is the `before` of the next page."""

    model_config = like(
        runs=[{"job_id": JOB, "name": "stand-up", **_RUN, "verdict": "failed", "error": "no luck", "result": None}],
        cursor=None,
    )

    runs: list[RunOfJob]
    cursor: str | None


class Started(BaseModel):
    model_config = like(run_id=RUN, job_id=JOB)

    run_id: str
    job_id: str


class Redriven(BaseModel):
    """`refused` are runs that didn't fail, are gone, or were never there."""

    model_config = like(redriven=[RUN], refused=[])

    redriven: list[str]
    refused: list[str]


class Previewed(BaseModel):
    model_config = like(
        schedule="At 09:00 on weekdays, Berlin time", timezone="Europe/Berlin", slots=[{"local": AT, "utc": UTC}]
    )

    schedule: str
    timezone: str
    slots: list[Moment]
    note: str | None = None


class Task(BaseModel):
    model_config = like(name="run_backup", parameters={"type": "object"}, doc="Back a folder up.")

    name: str
    parameters: dict[str, Any]
    doc: str


class Tasks(BaseModel):
    model_config = like(tasks=[{"name": "run_backup", "parameters": {"type": "object"}, "doc": "Back a folder up."}])

    tasks: list[Task]


class Clock(BaseModel):
    model_config = like(
        datetime=AT, date="2026-11-16", time="09:00:00", timezone="Europe/Berlin", utc=UTC, timestamp_ms=1794816000000
    )

    datetime: str
    date: str
    time: str
    timezone: str
    utc: str
    timestamp_ms: int
