"""Which scope a call needs, on every surface.

An operation needs its own. If it changes or runs a job, what the job does decides too: a prompt is made, changed,
paused and ended with the scope `prompts`, any other job with `schedule`. Running needs `run`, and for a prompt
`prompts` too.

What a job does and did is shown with `read`, of a prompt with `prompts` too; who may only change it is told its name,
its state and its times. A token for an agent touches no prompt that is for another agent, and isn't shown what it says,
unless it was made with a token for that agent.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from cronty.contract.caller import MEANINGS, Caller, Scope
from cronty.contract.operation import Operation
from cronty.contract.result import Err
from cronty.jobs.action import Action, ActionKind
from cronty.jobs.job import Job
from cronty.jobs.overview import RunEvent
from cronty.jobs.run import Run


class Made(Protocol):
    """What decides which agents may touch a job. `made_by` is the agent whose token made it."""

    @property
    def number(self) -> int: ...
    @property
    def action(self) -> Action: ...
    @property
    def made_by(self) -> str | None: ...


def lacks(caller: Caller, scope: Scope, what: str) -> Err | None:
    """Why this caller may not do what needs this scope, or None."""
    if caller.may(scope):
        return None
    message = f"{what} needs the scope {scope}, which the token lacks."
    return Err("missing_scope", message, f"Use a token with the scope {scope} ({MEANINGS[scope]}).")


def not_permitted(
    operation: Operation[..., Any, Any], caller: Caller, kind: ActionKind | None = None, name: str | None = None
) -> Err | None:
    """Why this caller may not call this operation, or None. Without a `kind`, it is enough that the caller may change
    jobs of one kind: `not_for` checks the kind later. `name`: the tool's name, if it differs from the operation's."""
    scope, what = operation.scope, name or operation.name
    if scope is None:
        return None
    if not operation.by_kind:
        return lacks(caller, scope, what)
    if kind is None:
        return None if scope == "schedule" and caller.may("prompts") else lacks(caller, scope, what)
    return (lacks(caller, "run", what) if scope == "run" else None) or _for_kind(caller, kind, scope, what)


def not_for(caller: Caller, action: Action, scope: Scope = "schedule") -> Err | None:
    """Why this caller may not change a job with this action, or run it with the scope `run`; or None."""
    return _for_kind(caller, action.kind, scope, caller.operation or "This")


def not_to_tell(caller: Caller, policy: Mapping[str, object] | None) -> Err | None:
    """Why this caller may not give a job this policy, or None: what sends messages needs a scope that does."""
    sends = next((name for name in ("tell", "alert") if (policy or {}).get(name)), None)
    return None if sends is None or caller.may("run") else lacks(caller, "schedule", f"The policy {sends!r}")


def not_to_change(caller: Caller, job: Made, scope: Scope = "schedule") -> Err | None:
    """Why this caller may not change this job, or run it with the scope `run`; or None."""
    if wrong := not_for(caller, job.action, scope):
        return wrong
    if not _is_anothers(caller, job):
        return None
    message = f"This token is for agent {caller.agent}, and job {job.number} is a prompt for {job.action.agent}."
    return Err("not_allowed", message, "Use a token that is for that agent, or for none.")


def may_see(caller: Caller, job: Job) -> bool:
    """Whether this caller may be shown what a job does and did."""
    if _is_anothers(caller, job):
        return False
    return caller.may("read") or (job.action.kind == "prompt" and caller.may("prompts"))


def as_seen(caller: Caller, job: Job) -> Job:
    """The job, without what it says if it is a prompt for another agent."""
    if not _is_anothers(caller, job):
        return job
    hidden = Action(job.action.task, kwargs={"agent": job.action.agent})
    return replace(job, action=hidden, last_error=None, retry_error=None, untaken_since=None)


def runs_as_seen(caller: Caller, job: Job, runs: list[Run]) -> list[Run]:
    """The job's runs, without their results and errors if it is a prompt for another agent."""
    return [replace(run, result=None, error=None) for run in runs] if _is_anothers(caller, job) else runs


def event_as_seen(caller: Caller, event: RunEvent) -> RunEvent:
    """The event; without the error for an agent, because an event doesn't say which agent its prompt is for."""
    return event if caller.agent is None else replace(event, error=None)


def _is_anothers(caller: Caller, job: Made) -> bool:
    if caller.agent is None or job.action.kind != "prompt":
        return False
    return job.action.agent not in (None, caller.agent) and job.made_by != caller.agent


def _for_kind(caller: Caller, kind: ActionKind, scope: Scope, what: str) -> Err | None:
    return lacks(caller, "prompts", f"{what} for a prompt") if kind == "prompt" else lacks(caller, scope, what)
