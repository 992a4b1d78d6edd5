"""What the server answers, as types; a test holds them to its OpenAPI page."""

from typing import Any, NotRequired, TypedDict


class Moment(TypedDict):
    local: str
    utc: str
    note: NotRequired[str]


class Scheduled(TypedDict):
    job_id: str
    name: str
    next_run: str | None
    status: str
    schedule: str
    timezone: str
    next_runs: list[Moment]
    version: int


class JobSummary(TypedDict):
    job_id: str
    name: str
    status: str
    trigger_type: str
    next_run: str | None
    run_count: int
    last_run: str | None
    paused: bool
    tags: list[str]


class JobList(TypedDict):
    jobs: list[JobSummary]
    total: int
    cursor: str | None


class DeletedJob(TypedDict):
    job_id: str
    name: str
    schedule: str
    run_count: int
    tags: list[str]
    deleted_at: str
    until: str


class DeletedJobs(TypedDict):
    jobs: list[DeletedJob]
    cursor: str | None


class Run(TypedDict):
    run_id: str
    scheduled_for: str
    verdict: str
    reason: str | None
    attempt: int
    started_at: str | None
    finished_at: str | None
    error: str | None
    result: Any
    next_attempt_at: NotRequired[str]
    slots: NotRequired[int]
    through: NotRequired[str | None]
    manual: NotRequired[bool]
    moved_from: NotRequired[str]


class Job(TypedDict):
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


class Runs(TypedDict):
    job_id: str
    runs: list[Run]
    cursor: str | None


class RunOfJob(Run):
    job_id: str
    name: str


class Attempt(TypedDict):
    attempt: int
    started_at: str | None
    ended_at: str
    outcome: str
    error: str | None


class RunDetail(RunOfJob):
    attempts: list[Attempt]


class FailedRuns(TypedDict):
    runs: list[RunOfJob]
    cursor: str | None


class Started(TypedDict):
    run_id: str
    job_id: str


class Redriven(TypedDict):
    redriven: list[str]
    refused: list[str]


class Previewed(TypedDict):
    schedule: str
    timezone: str
    slots: list[Moment]
    note: NotRequired[str]


class Task(TypedDict):
    name: str
    parameters: dict[str, Any]
    doc: str


class Tasks(TypedDict):
    tasks: list[Task]


class Clock(TypedDict):
    datetime: str
    date: str
    time: str
    timezone: str
    utc: str
    timestamp_ms: int


class Provenance(TypedDict):
    owner: str
    made_at: str
    surface: str | None
    client: dict[str, Any] | None
    run_id: str | None


class Prompt(TypedDict):
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


class InboxItems(TypedDict):
    items: list[Prompt]
    count: int


class Acknowledged(TypedDict):
    acknowledged: list[str]
    refused: list[str]


class Channel(TypedDict):
    name: str
    scheme: str
    leads_to: str
    created_at: str


class Channels(TypedDict):
    channels: list[Channel]


class Sent(TypedDict):
    topic: str
    id: str


class Key(TypedDict):
    id: int
    name: str
    scopes: list[str]
    agent: str | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class Keys(TypedDict):
    keys: list[Key]


class MadeKey(TypedDict):
    id: int
    key: str


class Me(TypedDict):
    owner: str
    scopes: list[str]
    agent: str | None
    key_id: int | None


class Standing(TypedDict):
    limits: dict[str, float | str]
    used: dict[str, int]


class Entry(TypedDict):
    number: int
    at: str
    what: str
    job_id: int | None
    actor: dict[str, Any] | None
    client: dict[str, Any] | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    hash: str


class Trail(TypedDict):
    entries: list[Entry]
    cursor: int | None
    archived_through: int | None


class RunEvent(TypedDict):
    """Something that happened to a run; `at` is where `events(after=…)` goes on."""

    at: str
    run_id: str
    job_id: str
    name: str
    scheduled_for: str
    verdict: str
    attempt: int
    reason: str | None
    error: str | None
