"""Converts a job form to a request for the scheduler, and a job to a form."""

from dataclasses import dataclass
from typing import Final, cast

import orjson

from cronty.contract.operation import UNSET
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.jobs.policy import Policy
from cronty.timing import Cron, Interval, Once, describe
from cronty.web.dashboard.formats import first_line, span
from cronty.web.dashboard.security import Form

KINDS: Final = ("prompt", "notify", "webhook", "task")
LARGEST_SHOWN: Final = 8_000
"""Larger arguments, in bytes, aren't put into a form; they stay unchanged."""
_NUMBERS: Final = {"attempts": int, "timeout": float}
_CHOICES: Final = ("overlap", "catch_up")
_TEXTS: Final = {
    "prompt": {"prompt": "prompt_text", "agent": "prompt_agent"},
    "notify": {"message": "notify_message", "topic": "notify_topic", "title": "notify_title"},
    "webhook": {"url": "webhook_url"},
}
"""The form field of each argument of an action."""


@dataclass(frozen=True, slots=True)
class BadField(Exception):
    err: Err


def new_values(zone_name: str) -> dict[str, str]:
    """An empty form."""
    return {"kind": "notify", "zone": zone_name}


def values_of(job: Job) -> dict[str, str]:
    """The form values of a job; `large` if its arguments are too large for a form."""
    action = job.action
    values: dict[str, str] = {
        "name": job.name,
        "kind": action.kind,
        "when": rule_text(job),
        "zone": job.zone,
        "tags": ", ".join(job.tags),
        "max_runs": str(job.max_runs or ""),
        "attempts": str(job.policy.attempts),
        "timeout": f"{job.policy.timeout:g}",
        "overlap": job.policy.overlap,
        "catch_up": job.policy.catch_up,
        "version": str(job.version),
    }
    if len(action.arguments_json()) > LARGEST_SHOWN:
        return values | {"large": "yes", "task": action.task}
    for argument, field in _TEXTS.get(action.kind, {}).items():
        values[field] = str(action.kwargs.get(argument) or "")
    if action.kind == "webhook":
        body = action.kwargs.get("body")
        values["webhook_body"] = "" if body is None else _json(body)
    if action.kind == "task":
        values["task"] = action.task
        values["args"] = _json(list(action.args)) if action.args else ""
        values["kwargs"] = _json(dict(action.kwargs)) if action.kwargs else ""
    return values


def rule_text(job: Job) -> str:
    """The schedule as its owner said it, or as a person would type it."""
    if job.said is not None:
        return job.said
    match job.trigger:
        case Cron(expression=expression):
            return expression
        case Interval(period=period):
            return f"every {span(period)}" if period.total_seconds() >= 60 else f"every {period.total_seconds():g} s"
        case Once(local=local, at=at):
            return (local or at).isoformat(sep=" ")
        case _:
            return describe(job.trigger, job.zone)


def request_of(form: Form) -> Result[ScheduleJob]:
    try:
        action = _action(form, None)
        policy = _policy(form, None)
        request = ScheduleJob(
            form.text("name") or name_of(action),
            action.task,
            "words",
            {"text": when_of(form)},
            action.args,
            action.kwargs,
            timezone=form.text("zone") or None,
            policy=policy,
            max_runs=_whole(form, "max_runs"),
            tags=_tags(form),
            ends_at=form.text("ends_at") or None,
            idempotency_key=form.text("once") or None,
        )
    except BadField as bad:
        return bad.err
    return Ok(request)


def changes_of(form: Form, job: Job, version: int | None) -> Result[EditJob]:
    """Only the fields that differ: an unchanged schedule keeps its start."""
    try:
        when, zone_name = when_of(form), form.text("zone")
        new_rule = when != rule_text(job) or zone_name != job.zone
        action = None if form.get("large") else _action(form, job.action)
        policy = _policy(form, job.policy)
        tags = _tags(form)
        other = action if action != job.action else None
        changes = EditJob(
            str(job.number),
            expected_version=version,
            name=form.text("name") if form.text("name") not in ("", job.name) else UNSET,
            task=other.task if other else UNSET,
            args=other.args if other else UNSET,
            kwargs=other.kwargs if other else UNSET,
            trigger_type="words" if new_rule else UNSET,
            trigger_config={"text": when} if new_rule else UNSET,
            timezone=zone_name if zone_name and new_rule else UNSET,
            policy=policy or UNSET,
            max_runs=found if (found := _whole(form, "max_runs")) != job.max_runs else UNSET,
            tags=tags if tuple(tags) != job.tags else UNSET,
            ends_at=form.text("ends_at") or UNSET,
        )
    except BadField as bad:
        return bad.err
    return Ok(changes)


def when_of(form: Form) -> str:
    """The schedule as typed; or the one that was chosen of several that it may mean."""
    return form.text("reading") or form.text("when")


def name_of(action: Action) -> str:
    """The name of a job that was given none: what it says, calls or runs."""
    said = action.kwargs.get("message") or action.kwargs.get("prompt") or action.kwargs.get("url") or action.task
    return first_line(str(said), 80) or action.task


_FIELDS: Final = {
    "bad_timezone": "zone", "bad_name": "name", "bad_tags": "tags", "bad_max_runs": "max_runs", "unknown_task": "task",
    "bad_agent": "prompt_agent",
}  # fmt: skip
_NAMES: Final = frozenset({"name", "tags", "max_runs", "ends_at", "zone", "when", "task"})


def field_of(err: Err) -> str | None:
    """The field of the form that an error is about; None if it is about the whole."""
    if err.code in _FIELDS:
        return _FIELDS[err.code]
    if err.code in ("ambiguous", "unreadable", "bad_trigger", "bad_time") or err.field in (
        "trigger_config",
        "trigger_type",
    ):
        return "when" if err.field in (None, "trigger_config", "trigger_type", "when") else err.field
    return err.field if err.field in _NAMES or err.field in _ASKED.values() or err.field in _MORE else None


_MORE: Final = frozenset({"attempts", "timeout", "args", "kwargs", "webhook_body"})
_ASKED: Final = {
    ("prompt", "prompt"): "prompt_text",
    ("notify", "message"): "notify_message",
    ("notify", "topic"): "notify_topic",
    ("webhook", "url"): "webhook_url",
}
_SAY: Final = {
    "prompt_text": "Say what the agent should do.",
    "notify_message": "Say what to be reminded of.",
    "notify_topic": "Say where it should go.",
    "webhook_url": "Say which address to call.",
    "task": "Say which task to run.",
}


def _chosen(form: Form, field: str) -> str:
    """A value that was chosen from a list, or typed because it isn't in the list."""
    return form.text(field.replace("_topic", "_to").replace("_agent", "_to")) or form.text(field)


def _action(form: Form, old: Action | None) -> Action:
    kind = form.text("kind")
    if kind not in KINDS:
        raise BadField(Err("bad_kind", f"Unknown kind: {kind[:40]!r}", f"Choose one of: {', '.join(KINDS)}."))
    if kind == "task":
        if not form.text("task"):
            raise BadField(Err("bad_arguments", _SAY["task"], field="task"))
        args, kwargs = _read_json(form, "args", list, []), _read_json(form, "kwargs", dict, {})
        return Action(form.text("task"), tuple(cast("list[object]", args)), cast("dict[str, object]", kwargs))
    # Arguments without a form field stay unchanged.
    kwargs = dict(old.kwargs) if old is not None and old.kind == kind else {}
    for argument, field in _TEXTS[kind].items():
        kwargs[argument] = _chosen(form, field)
        if not kwargs[argument] and (kind, argument) in _ASKED:
            raise BadField(Err("bad_arguments", _SAY[field], field=field))
        if not kwargs[argument]:
            del kwargs[argument]
    if kind == "webhook":
        body = _read_json(form, "webhook_body", None, None)
        kwargs = {name: value for name, value in kwargs.items() if name != "body"}
        kwargs |= {} if body is None else {"body": body}
    return Action(kind, (), kwargs)


def _policy(form: Form, old: Policy | None) -> dict[str, object]:
    """The policy fields that were filled in; for an existing job, only those that changed."""
    given: dict[str, object] = {}
    for name, read in _NUMBERS.items():
        if text := form.text(name):
            try:
                given[name] = read(text)
            except ValueError:
                raise BadField(Err("bad_policy", f"This must be a number, not {text[:40]!r}.", field=name)) from None
    given |= {name: form.text(name) for name in _CHOICES if form.text(name)}
    return {name: value for name, value in given.items() if old is None or getattr(old, name) != value}


def _tags(form: Form) -> list[str]:
    return list(dict.fromkeys(tag.strip() for tag in form.text("tags").split(",") if tag.strip()))


def _whole(form: Form, name: str) -> int | None:
    text = form.text(name)
    if text and not text.isdecimal():
        raise BadField(Err("bad_max_runs", f"This must be a whole number, not {text[:40]!r}.", field=name))
    return int(text[:18]) if text else None


def _read_json(form: Form, name: str, kind: type | None, default: object) -> object:
    text = form.text(name)
    if not text:
        return default
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError as bad:
        hint = 'Text needs quotes: "like this".'
        raise BadField(Err("bad_arguments", f"This isn't JSON: {bad}.", hint, name)) from None
    if kind is not None and not isinstance(value, kind):
        what = "a list, as in [1, 2]" if kind is list else 'an object, as in {"path": "/data"}'
        raise BadField(Err("bad_arguments", f"The arguments must be {what}.", field=name))
    return value


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
