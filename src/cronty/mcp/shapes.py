"""The shapes of the dialects' answers, for output schemas."""

from typing import NotRequired, TypedDict


class Failure(TypedDict, total=False):
    """The fields of an error, returned in place of the answer."""

    error: str
    hint: str


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


class Cancelled(TypedDict):
    cancelled: bool
    job_id: str
    error: NotRequired[str]
    choices: NotRequired[list[dict[str, str | None]]]


class Runs(Failure, total=False):
    job_id: str
    runs: list[RunShape]


class Acted(Failure, total=False):
    success: bool
    schedule_id: str
    paused: bool
    confirmation: str
    choices: list[dict[str, str | None]]


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


class AgendaItem(TypedDict):
    id: int
    at: str | None
    status: str
    prompt: str
    agent: str | None
    schedule: str
    timezone: str
    paused: NotRequired[bool]


class AgendaChange(TypedDict, total=False):
    task: AgendaItem
    error: str
    choices: list[dict[str, str | None]]


class AgendaList(TypedDict, total=False):
    tasks: list[AgendaItem]
    count: int
    error: str
