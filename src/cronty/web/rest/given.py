"""What callers send: bodies and queries. Unknown names are refused, because a mistyped one would do nothing."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from cronty.jobs.caller import SCOPES
from cronty.jobs.result import Err
from cronty.timing import BadTrigger
from cronty.timing.reading import read_moment
from cronty.web.rest.shapes import JOB, RUN

TriggerType = Literal["once", "interval", "cron", "words"]

JobId = Annotated[str, Path(description="The job's id, in any of its forms.", examples=[JOB])]
RunId = Annotated[str, Path(description="The run's id.", examples=[RUN])]
ChannelName = Annotated[str, Path(description="What the channel is called.", examples=["phone"])]
KeyNumber = Annotated[str, Path(description="The key's number, as the list shows it.", examples=["3"])]
Before = Annotated[str | None, Query(description="The cursor of the page before.", examples=["2026-11-16T08:00:00Z"])]
Limit = Annotated[int, Query(description="How many, up to 1000.", examples=[20])]


def _body(**example: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [example]})


_TRIGGER = Field(
    description='once: {"run_at": "2027-01-31T09:00:00+01:00"}; interval: {"seconds", "minutes", "hours", "days"}; '
    'cron: {"expression": "0 9 * * 1-5"}; words: {"text": "every weekday at 8:30"}.'
)
_POLICY = Field(None, description="Only what differs from the default, as the reference of policies names it.")
_ZONE = Field(None, description="IANA time zone, e.g. Europe/Berlin. Default: the owner's, else the server's.")


class JobBody(BaseModel):
    """A job to be made."""

    model_config = _body(
        name="stand-up", task="notify", trigger_type="words", trigger_config={"text": "every weekday at 9:00"},
        kwargs={"message": "Stand-up", "topic": "phone"}, timezone="Europe/Berlin", tags=["team"],
    )  # fmt: skip

    name: str = Field(description="A name people recognise, up to 200 characters.")
    task: str = Field(description="A registered task, or notify, prompt, webhook, which are always there.")
    trigger_type: TriggerType
    trigger_config: dict[str, Any] = _TRIGGER
    args: list[Any] | None = Field(None, description="Positional arguments of the task.")
    kwargs: dict[str, Any] | None = Field(None, description="Keyword arguments of the task.")
    max_runs: int | None = Field(None, description="Stop after so many runs.")
    timezone: str | None = _ZONE
    policy: dict[str, Any] | None = _POLICY
    tags: list[str] | None = Field(None, description="Labels to find it by: up to 20.")
    starts_at: str | None = Field(None, description="No run before this moment: ISO 8601, or words.")
    ends_at: str | None = Field(None, description="No run after this moment.")


class JobEdit(BaseModel):
    """What to change; what is left out stays as it is."""

    model_config = _body(trigger_type="words", trigger_config={"text": "every weekday at 9:30"})

    name: str | None = None
    task: str | None = None
    trigger_type: TriggerType | None = Field(None, description="With trigger_config: a new rule.")
    trigger_config: dict[str, Any] | None = None
    args: list[Any] | None = None
    kwargs: dict[str, Any] | None = Field(None, description="New keyword arguments, all of them.")
    max_runs: int | None = None
    timezone: str | None = _ZONE
    policy: dict[str, Any] | None = _POLICY
    tags: list[str] | None = None
    ends_at: str | None = None


class PreviewBody(BaseModel):
    """A rule nobody has made a job of yet."""

    model_config = _body(
        trigger_type="cron", trigger_config={"expression": "0 9 * * 1-5"}, timezone="Europe/Berlin", count=3
    )

    trigger_type: TriggerType
    trigger_config: dict[str, Any] = _TRIGGER
    timezone: str | None = _ZONE
    count: int = Field(5, description="How many slots to show, up to 100.")


class RedriveBody(BaseModel):
    model_config = _body(run_ids=[RUN])

    run_ids: list[str] = Field(description="Failed runs: 1 to 1000.")


class InboxBody(BaseModel):
    model_config = _body(agent="claude", limit=5, wait_seconds=0)

    agent: str | None = Field(None, description="Only prompts for this agent, or for anyone.")
    limit: int = Field(10, description="How many, up to 100.")
    wait_seconds: float = Field(0, ge=0, le=20, description="How long to wait if there is nothing yet.")


class SettleBody(BaseModel):
    model_config = _body(receipts=[f"{RUN}#1"], outcome="done", report="Two pull requests need you.")

    receipts: list[str] = Field(description="As reading the inbox gave them.")
    outcome: Literal["done", "quiet", "failed", "snooze"] = "done"
    report: str | None = Field(None, description="What was done, or what went wrong; kept with the run.")
    snooze_for: str | None = Field(None, description='With snooze: until when, as in "1h" or "tomorrow at 9:00".')


class ChannelBody(BaseModel):
    model_config = _body(url="ntfy://ntfy.sh/ann-phone")

    url: str = Field(description="Where it leads. It is encrypted, and never answered again.")


class KeyBody(BaseModel):
    model_config = _body(name="laptop", scopes=["read", "schedule"], expires_at="2027-11-16T00:00:00Z")

    name: str = Field(description="What you call it, up to 100 characters.")
    scopes: list[str] = Field(list(SCOPES), description=f"Any of {', '.join(SCOPES)}; at most what this token allows.")
    agent: str | None = Field(None, description="The agent it is for, if it is for one.")
    expires_at: str | None = Field(None, description="Until when it is good: ISO 8601, or words. Default: for ever.")


class PushBody(BaseModel):
    """A notification to be sent at once."""

    model_config = _body(message="Build is green", topic="phone", priority=4)

    message: str
    topic: str = Field(description="The name of a channel, or else an ntfy topic.")
    title: str | None = None
    priority: int | None = Field(None, description="1 (silent) to 5 (urgent).")
    tags: list[str] | None = None
    markdown: bool = False
    click: str | None = None
    icon: str | None = None
    attach: str | None = None
    filename: str | None = None
    actions: list[dict[str, Any]] | None = Field(None, description="Up to three buttons.")


class JobsWanted(BaseModel):
    """Which jobs to list."""

    model_config = ConfigDict(extra="forbid")

    status: str | None = Field(
        None, description="pending, running, completed, failed or cancelled.", examples=["pending"]
    )
    limit: int = Field(100, description="How many, up to 1000.", examples=[20])
    cursor: str | None = Field(None, description="The cursor of the page before.")
    name: str | None = Field(None, description="Only jobs whose name has this in it.", examples=["stand"])
    tag: str | None = Field(None, description="Only jobs with this tag.", examples=["team"])
    task: str | None = Field(None, description="Only jobs that run this task.", examples=["notify"])
    topic: str | None = Field(None, description="Only notifications for this topic.", examples=["phone"])
    since: str | None = Field(
        None, alias="from", description="Only jobs that fire at or after this time or date.", examples=["2027-01-31"]
    )
    until: str | None = Field(
        None, alias="to", description="Only jobs that fire at or before this time or date.", examples=["2027-02-28"]
    )


def read_before(text: str | None) -> datetime | Err | None:
    """Where a page goes on, latest first."""
    try:
        return None if text is None else read_moment(text.strip(), "UTC")
    except BadTrigger as bad:
        return Err("bad_cursor", f"Invalid before: {bad.message}", "Use the cursor of the page before, or none.")
