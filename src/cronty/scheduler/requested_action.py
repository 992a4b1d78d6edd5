"""What a request for a job says about its action, and what must hold for it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import cast

from cronty.actions.notify import undeliverable
from cronty.contract.caller import Caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err
from cronty.jobs.action import PROMPT, ROUTED, Action, as_prompt, check_arguments_size
from cronty.jobs.arguments import check_arguments
from cronty.jobs.storable import storable
from cronty.scheduler.decisions import not_from_here
from cronty.store.job_store import JobStore, LockedJob
from cronty.store.limit_store import Standing
from cronty.timing.errors import given_in
from cronty.timing.near import near
from cronty.timing.rule import read_bound


def action_of(request: ScheduleJob) -> Action:
    return Action(request.task, tuple(request.args or ()), dict(request.kwargs or {}))


def beginning(request: ScheduleJob, zone_name: str, now: datetime) -> datetime | None:
    if request.starts_at is None:
        return None
    with given_in("starts_at"):
        return max(now, read_bound(request.starts_at, zone_name, now, last=False))


async def check_action(caller: Caller, action: Action, standing: Standing, store: JobStore | LockedJob) -> Err | None:
    """Why an action can't be used, or None; `standing` has its tasks. The caller's scopes were checked before."""
    if wrong := check_arguments_size(action) or not_from_here(caller, action):
        return wrong
    if not storable(action.task):
        return Err("unknown_task", f"Unknown task: {action.task!r}", field="task")
    if wrong := undeliverable(action):
        return wrong
    if action.kind == "prompt" and standing.not_for_owner:
        name = as_prompt(action).agent
        message = f"Agent {name!r} isn't available to {caller.owner!r}."
        return Err("not_allowed", message, "Name another agent, or ask whoever runs this service.", "kwargs")
    parameters = standing.tasks.get(PROMPT if action.kind == "prompt" else action.task)
    if parameters is not None:
        return check_arguments(action, parameters)
    if action.kind == "prompt":  # its run waits for an agent, not for a worker
        return None
    message = f"Unknown task: {action.task}"
    if not caller.may("read"):
        return Err("unknown_task", message, "list_tasks shows what there is, with the scope read.", "task")
    known = [task.name for task in await store.list_tasks(caller.owner)]
    meant = "".join(f"Did you mean {name}? " for name in near(action.task, known))
    return Err("unknown_task", message, f"{meant}Registered tasks: {', '.join(known) or 'none yet'}.", "task")


def usual_policy(action: Action, standing: Standing) -> Mapping[str, object]:
    """What the task itself says about its jobs."""
    return cast("Mapping[str, object]", standing.tasks.get(action.task, {}).get("policy", {}))


def tasks_of(action: Action | None) -> list[str]:
    """The tasks to look up for an action: its own, and for a prompt the one that wakes its agent."""
    if action is None:
        return []
    names = [PROMPT, f"{ROUTED}{as_prompt(action).agent}"] if action.kind == "prompt" else [action.task]
    return [name for name in names if storable(name)]


def routed(action: Action, known: Mapping[str, object]) -> Action:
    """A prompt with its route: a worker that can wake its agent, or else the inbox."""
    if action.kind != "prompt":
        return action
    prompt = as_prompt(action)
    route = f"{ROUTED}{prompt.agent}"
    return prompt if prompt.agent is None or route not in known else replace(prompt, task=route)
