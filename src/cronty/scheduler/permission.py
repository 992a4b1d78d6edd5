"""Which scope a call needs, on every surface.

An operation needs its own. If it changes or runs a job, what the job does decides too: a prompt is made, changed,
paused and ended with the scope `prompts`, any other job with `schedule`. Running needs `run`, and for a prompt
`prompts` too.
"""

from typing import Any

from cronty.contract.caller import MEANINGS, Caller, Scope
from cronty.contract.operation import Operation
from cronty.contract.result import Err
from cronty.jobs.action import Action, ActionKind


def lacks(caller: Caller, scope: Scope, what: str) -> Err | None:
    """Why this caller may not do what needs this scope, or None."""
    if caller.may(scope):
        return None
    message = f"{what} needs the scope {scope}, which the token lacks."
    return Err("missing_scope", message, f"Use a token with the scope {scope} ({MEANINGS[scope]}).")


def not_permitted(
    operation: Operation[..., Any, Any], caller: Caller, kind: ActionKind | None = None, name: str | None = None
) -> Err | None:
    """Why this caller may not call this operation, or None. Without a kind, one kind of job that it may change is
    enough: which one it is about is seen later, with `not_for`. `name` is what the call is named, if not so."""
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


def _for_kind(caller: Caller, kind: ActionKind, scope: Scope, what: str) -> Err | None:
    return lacks(caller, "prompts", f"{what} for a prompt") if kind == "prompt" else lacks(caller, scope, what)
