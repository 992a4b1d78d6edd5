"""The shapes of answers, for output schemas: every field that a seed promises, and added ones."""

from typing import NotRequired, TypedDict


class Failure(TypedDict, total=False):
    """What stands instead of the answer when it can't be given."""

    error: str
    hint: str


class Moment(TypedDict):
    local: str
    utc: str
    note: NotRequired[str]


class Scheduled(Failure, total=False):
    job_id: str
    name: str
    next_run: str | None
    status: str
    schedule: str
    timezone: str
    next_runs: list[Moment]
    version: int


class AttemptShape(TypedDict):
    attempt: int
    started_at: str | None
    ended_at: str
    outcome: str
    error: str | None


class RunShape(TypedDict, total=False):
    job_id: str
    name: str
    run_id: str
    scheduled_for: str
    verdict: str
    reason: str | None
    attempt: int
    started_at: str | None
    finished_at: str | None
    error: str | None
    result: object
    slots: int
    through: str | None
    manual: bool
    moved_from: str
    next_attempt_at: str
    attempts: list[AttemptShape]


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


class JobList(Failure, total=False):
    jobs: list[JobSummary]
    total: int
    cursor: str | None


class Cancelled(TypedDict):
    cancelled: bool
    job_id: str
    error: NotRequired[str]


class JobStatus(Failure, total=False):
    job_id: str
    name: str
    status: str
    trigger_type: str
    created_at: str
    last_run: str | None
    next_run: str | None
    run_count: int
    max_runs: int | None
    error: str | None  # pyright: ignore[reportIncompatibleVariableOverride] -- null while the job is well
    paused: bool
    paused_because: str | None
    schedule: str
    timezone: str
    task: str
    tags: list[str]
    success_count: int
    failure_count: int
    version: int
    runs: list[RunShape]


class Previewed(Failure, total=False):
    schedule: str
    timezone: str
    slots: list[Moment]
    note: str


class Started(Failure, total=False):
    run_id: str
    job_id: str


class Runs(Failure, total=False):
    job_id: str
    runs: list[RunShape]


class Redriven(Failure, total=False):
    redriven: list[str]
    refused: list[str]


class TaskShape(TypedDict):
    name: str
    parameters: dict[str, object]
    doc: str


class Tasks(Failure, total=False):
    tasks: list[TaskShape]


class Acted(TypedDict, total=False):
    success: bool
    schedule_id: str
    paused: bool
    confirmation: str
    error: str


class Notified(TypedDict, total=False):
    success: bool
    message_id: str
    schedule_id: str
    scheduled_time: str
    delay: str
    cron: str
    schedule: str
    confirmation: str


class NotificationShape(TypedDict):
    schedule_id: str
    type: str
    cron_expression: str | None
    schedule: str
    timezone: str
    notification_topic: str
    label: str
    paused: bool
    next_occurrence: str | None
    last_occurrence: str | None
    notification_body: str


class Notifications(TypedDict):
    schedules: list[NotificationShape]
    count: int
    note: NotRequired[str]


class Pushed(TypedDict):
    success: bool
    id: str
    confirmation: str


class CurrentTime(TypedDict):
    datetime: str
    date: str
    time: str
    timezone: str
    utc: str
    timestamp_ms: int


class AgendaItem(TypedDict):
    id: int
    at: str | None
    status: str
    prompt: str
    agent: str | None
    schedule: str
    timezone: str


class AgendaChange(TypedDict, total=False):
    task: AgendaItem
    error: str


class AgendaList(TypedDict, total=False):
    tasks: list[AgendaItem]
    count: int
    error: str


class ClientShape(TypedDict, total=False):
    name: str
    version: str


class ProvenanceShape(TypedDict):
    owner: str
    made_at: str
    surface: str | None
    client: ClientShape | None
    run_id: str | None


class InboxShape(TypedDict):
    receipt: str
    prompt: str
    data: object
    agent: str | None
    job_id: str
    run_id: str
    name: str
    why: str
    scheduled_for: str
    previous_slot: str | None
    attempt: int
    deadline: str
    provenance: ProvenanceShape
    made_at: str
    lease_until: str


class InboxList(Failure, total=False):
    items: list[InboxShape]
    count: int


class Acknowledged(Failure, total=False):
    acknowledged: list[str]
    refused: list[str]
