"""Every operation as the call it makes: pure, said once, made by both clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from cronty.client.shapes import (
    Acknowledged,
    Channel,
    Channels,
    Clock,
    DeletedJobs,
    FailedRuns,
    InboxItems,
    Job,
    JobList,
    Keys,
    MadeKey,
    Me,
    Previewed,
    Redriven,
    RunDetail,
    Runs,
    Scheduled,
    Sent,
    Standing,
    Started,
    Tasks,
    Trail,
)

type TriggerType = Literal["once", "interval", "cron", "words"]


@dataclass(frozen=True, slots=True)
class Call[T]:
    """`T` is what it answers. `again`: whether making it twice does no more than making it once."""

    method: str
    path: str
    answer: type[T] | None = None
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    again: bool = False


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _job(job_id: str | int, rest: str = "") -> str:
    return f"/jobs/{quote(str(job_id), safe='')}{rest}"


# -- jobs ---------------------------------------------------------------------------------------------------------


def schedule_job(
    name: str,
    task: str,
    trigger_type: TriggerType,
    trigger_config: Mapping[str, Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    max_runs: int | None = None,
    *,
    timezone: str | None = None,
    policy: Mapping[str, Any] | None = None,
    tags: Sequence[str] | None = None,
    starts_at: str | None = None,
    ends_at: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Scheduled]:
    """Make a job. Without a key of yours it gets one of its own, so that a lost answer never makes a second job."""
    body = _given(
        name=name, task=task, trigger_type=trigger_type, trigger_config=trigger_config, args=args, kwargs=kwargs,
        max_runs=max_runs, timezone=timezone, policy=policy, tags=tags, starts_at=starts_at, ends_at=ends_at,
    )  # fmt: skip
    headers = {"Idempotency-Key": idempotency_key or str(uuid4())}
    return Call("POST", "/jobs", Scheduled, body=body, headers=headers, again=True)


def list_jobs(
    status: str | None = None,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    name: str | None = None,
    tag: str | None = None,
    task: str | None = None,
    topic: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Call[JobList]:
    """A page of jobs, those that fire next first."""
    wanted = _given(status=status, limit=limit, cursor=cursor, name=name, tag=tag, task=task, topic=topic)
    return Call("GET", "/jobs", JobList, wanted | _given(**{"from": since, "to": until}), again=True)


def job_status(job_id: str | int) -> Call[Job]:
    """One job in full, with its last ten runs."""
    return Call("GET", _job(job_id), Job, again=True)


def edit_job(
    job_id: str | int,
    *,
    expected_version: int | None = None,
    name: str | None = None,
    task: str | None = None,
    trigger_type: TriggerType | None = None,
    trigger_config: Mapping[str, Any] | None = None,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    max_runs: int | None = None,
    timezone: str | None = None,
    policy: Mapping[str, Any] | None = None,
    tags: Sequence[str] | None = None,
    ends_at: str | None = None,
) -> Call[Scheduled]:
    """Change a job from its next run on; refused if it has another version than the one you expect."""
    body = _given(
        name=name, task=task, trigger_type=trigger_type, trigger_config=trigger_config, args=args, kwargs=kwargs,
        max_runs=max_runs, timezone=timezone, policy=policy, tags=tags, ends_at=ends_at,
    )  # fmt: skip
    headers = {} if expected_version is None else {"If-Match": f'"{expected_version}"'}
    return Call("PATCH", _job(job_id), Scheduled, body=body, headers=headers)


def pause_job(job_id: str | int) -> Call[Job]:
    """Hold a job until it is resumed."""
    return Call("POST", _job(job_id, "/pause"), Job, again=True)


def resume_job(job_id: str | int) -> Call[Job]:
    """Let a paused job go on with its next future slot."""
    return Call("POST", _job(job_id, "/resume"), Job, again=True)


def cancel_job(job_id: str | int) -> Call[Job]:
    """End a job; it stays listed."""
    return Call("POST", _job(job_id, "/cancel"), Job, again=True)


def delete_job(job_id: str | int) -> Call[None]:
    """End a job and hide it; for 30 days it can be undeleted, then it goes with its runs."""
    return Call("DELETE", _job(job_id))


def undelete_job(job_id: str | int) -> Call[Job]:
    """Bring a deleted job back as it was."""
    return Call("POST", _job(job_id, "/undelete"), Job, again=True)


def list_deleted_jobs(*, limit: int | None = None, before: str | None = None) -> Call[DeletedJobs]:
    """Jobs that can be brought back, the latest deleted first."""
    return Call("GET", "/jobs/deleted", DeletedJobs, _given(limit=limit, before=before), again=True)


def run_job_now(job_id: str | int) -> Call[Started]:
    """Run a job once, now, beside its schedule."""
    return Call("POST", _job(job_id, "/run"), Started)


# -- runs ---------------------------------------------------------------------------------------------------------


def list_runs(
    job_id: str | int, *, limit: int | None = None, before: str | None = None, verdict: str | None = None
) -> Call[Runs]:
    """The planned moments of a job, newest first, each with its verdict and the reason."""
    return Call("GET", _job(job_id, "/runs"), Runs, _given(limit=limit, before=before, verdict=verdict), again=True)


def list_failed_runs(*, limit: int | None = None, before: str | None = None) -> Call[FailedRuns]:
    """What failed for good over all jobs, the latest first."""
    return Call("GET", "/runs/failed", FailedRuns, _given(limit=limit, before=before), again=True)


def show_run(run_id: str) -> Call[RunDetail]:
    """One run in full, with its attempts."""
    return Call("GET", f"/runs/{quote(run_id, safe='')}", RunDetail, again=True)


def redrive_runs(run_ids: Sequence[str]) -> Call[Redriven]:
    """Try failed runs again, each under its own id."""
    return Call("POST", "/runs/redrive", Redriven, body={"run_ids": list(run_ids)})


# -- time ---------------------------------------------------------------------------------------------------------


def preview_schedule(
    trigger_type: TriggerType, trigger_config: Mapping[str, Any], *, timezone: str | None = None, count: int = 5
) -> Call[Previewed]:
    """What a rule means, before a job is made of it."""
    body = _given(trigger_type=trigger_type, trigger_config=trigger_config, timezone=timezone, count=count)
    return Call("POST", "/preview", Previewed, body=body, again=True)


def get_current_time(timezone: str | None = None) -> Call[Clock]:
    return Call("GET", "/clock", Clock, _given(timezone=timezone), again=True)


def list_tasks() -> Call[Tasks]:
    """What may be scheduled."""
    return Call("GET", "/tasks", Tasks, again=True)


# -- messages -----------------------------------------------------------------------------------------------------


def read_inbox(agent: str | None = None, *, limit: int = 10, wait_seconds: float = 0) -> Call[InboxItems]:
    """The prompts whose time has come; each is yours for ten minutes."""
    return Call("POST", "/inbox/read", InboxItems, body=_given(agent=agent, limit=limit, wait_seconds=wait_seconds))


def acknowledge_inbox(
    receipts: Sequence[str],
    outcome: Literal["done", "quiet", "failed", "snooze"] = "done",
    *,
    report: str | None = None,
    snooze_for: str | None = None,
) -> Call[Acknowledged]:
    """Settle prompts."""
    body = _given(receipts=list(receipts), outcome=outcome, report=report, snooze_for=snooze_for)
    return Call("POST", "/inbox/acknowledge", Acknowledged, body=body)


def send_push_notification(message: str, topic: str, **fields: Any) -> Call[Sent]:
    """Send a notification now; the other fields are those of the task `notify`."""
    return Call("POST", "/notifications", Sent, body=_given(message=message, topic=topic, **fields))


def list_channels() -> Call[Channels]:
    return Call("GET", "/channels", Channels, again=True)


def save_channel(name: str, url: str) -> Call[Channel]:
    """Name a destination; its URL is never shown again."""
    return Call("PUT", f"/channels/{quote(name, safe='')}", Channel, body={"url": url}, again=True)


def remove_channel(name: str) -> Call[None]:
    return Call("DELETE", f"/channels/{quote(name, safe='')}")


def try_channel(name: str) -> Call[Sent]:
    """Send a message there now."""
    return Call("POST", f"/channels/{quote(name, safe='')}/test", Sent)


# -- the owner ----------------------------------------------------------------------------------------------------


def who_am_i() -> Call[Me]:
    """Whom the key stands for, and what it allows."""
    return Call("GET", "/me", Me, again=True)


def show_limits() -> Call[Standing]:
    """What the owner may have and do, and what is used of it."""
    return Call("GET", "/limits", Standing, again=True)


def list_keys() -> Call[Keys]:
    return Call("GET", "/keys", Keys, again=True)


def add_key(
    name: str, scopes: Sequence[str] | None = None, *, agent: str | None = None, expires_at: str | None = None
) -> Call[MadeKey]:
    """Make an API key; it is shown this once."""
    scopes = None if scopes is None else list(scopes)
    return Call("POST", "/keys", MadeKey, body=_given(name=name, scopes=scopes, agent=agent, expires_at=expires_at))


def revoke_key(key_id: int) -> Call[None]:
    """Take an API key back; the jobs it made pause."""
    return Call("DELETE", f"/keys/{key_id}")


def read_trail(*, limit: int | None = None, before: int | None = None) -> Call[Trail]:
    """Who did what, the latest first."""
    return Call("GET", "/trail", Trail, _given(limit=limit, before=before), again=True)
