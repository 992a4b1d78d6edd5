"""Decides whether a change of a job's health becomes an alert, where it goes, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

import orjson

from cronty.jobs.action import PROMPT
from cronty.jobs.job import JobState
from cronty.jobs.policy import Policy

ALERT_POLICY: Final = Policy(attempts=10).dump()
"""An alert is retried like any notification."""

LIMIT_REACHED: Final = "A limit was reached"


@dataclass(frozen=True, slots=True)
class Alert:
    """A notification about a job, or about its owner (`job_id` 0); without a topic it waits in the inbox."""

    owner_id: int
    job_id: int
    topic: str
    title: str
    message: str

    @property
    def name(self) -> str:
        """The name of the job that sends the alert."""
        return f"Alert: {self.title}"[:200]

    @property
    def task(self) -> str:
        return "notify" if self.topic else PROMPT

    def arguments_json(self) -> str:
        kwargs = {"message": self.message[:1000], "topic": self.topic, "title": self.title[:200]}
        if not self.topic:
            kwargs = {"prompt": f"Tell your user: {self.title}. {self.message[:1000]}"}
        return orjson.dumps({"args": [], "kwargs": kwargs}).decode()


class JobHealth(NamedTuple):
    """A job's state and its failures."""

    state: JobState
    failures_in_row: int
    last_error: str | None
    reason: str | None = None


class Change(NamedTuple):
    """A job whose health changed. `policy` is JSON as it is stored."""

    job_id: int
    owner_id: int
    name: str
    policy: str
    before: JobHealth
    after: JobHealth


def alert_about(change: Change, owners_topic: str = "") -> Alert | None:
    """An alert for the first failure, for failure number `alert_after`, for a pause, being set aside, and recovery.

    `owners_topic` is used for a job that was set aside and has no topic of its own. The policy may be unreadable: that
    may be why the job was set aside.
    """
    job_id, owner_id, name, policy, before, after = change
    topic, alert_after = _alert_settings(policy)
    if after.state == "set_aside" and before.state != "set_aside":
        topic, title, message = topic or owners_topic, f"{name} was set aside", after.reason or ""
    elif after.state == "paused" and before.state == "active" and after.reason is not None:
        last = "" if after.last_error is None else f". The last error: {after.last_error}"
        title, message = f"{name} was paused", f"{after.reason}{last}"
    elif before.last_error is not None and after.last_error is None:
        title, message = f"{name} works again", _what_was_wrong(before.failures_in_row)
    elif before.failures_in_row == 0 < after.failures_in_row or (
        before.failures_in_row < alert_after <= after.failures_in_row
    ):
        title, message = f"{name} failed {_times(after.failures_in_row)}", after.last_error or "No error was recorded."
    else:
        return None
    return Alert(owner_id, job_id, topic, title, message) if topic else None


def _alert_settings(stored_policy: str) -> tuple[str, int]:
    """The topic and `alert_after` of a stored policy; the defaults if they can't be read."""
    policy = orjson.loads(stored_policy)
    given = cast("Mapping[str, object]", policy if isinstance(policy, dict) else {})
    topic, after = given.get("alert"), given.get("alert_after")
    return topic if isinstance(topic, str) else "", after if isinstance(after, int) else Policy().alert_after


def _what_was_wrong(failures: int) -> str:
    return f"It had failed {_times(failures)}." if failures else "It had been paused."


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times in a row"
