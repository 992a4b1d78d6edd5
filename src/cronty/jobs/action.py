"""What a run does: a registered task, named, with JSON arguments. It never holds code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor, isfinite, log10
from typing import Final, Literal, cast

import orjson

from cronty.contract.result import Err

MAX_ARGUMENT_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 32

ActionKind = Literal["task", "notify", "prompt", "webhook"]
BUILT_IN: Final[Mapping[str, ActionKind]] = {"notify": "notify", "prompt": "prompt", "webhook": "webhook"}

PROMPT: Final = "prompt"
ROUTED: Final = "prompt:"
"""The task of a prompt that a worker can wake its agent for is `prompt:<agent>`. Any other prompt is the task `prompt`,
and waits in the inbox."""

CALLS_OUT: Final = frozenset({"notify", "webhook"})
"""The tasks that call a server of the owner's choice."""

COMMAND: Final = "command"
"""The task that runs a command line declared on the worker's machine. Only the local user may schedule it."""


def kind_of(task: str) -> str:
    """What a run of this task is counted as; one of the kinds in `cronty.metrics`, and in `fleet_figures.sql`."""
    if task.startswith(ROUTED):
        return "wake"
    return "inbox" if task == PROMPT else task if task in (*CALLS_OUT, COMMAND) else "task"


@dataclass(frozen=True, slots=True)
class Action:
    """`task` is the name a worker registered. `notify`, `prompt` and `webhook` are built-in tasks."""

    task: str
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def kind(self) -> ActionKind:
        return "prompt" if self.task.startswith(ROUTED) else BUILT_IN.get(self.task, "task")

    @property
    def agent(self) -> str | None:
        """Which agent a prompt is for; None if any agent may read it."""
        given = self.kwargs.get("agent")
        if isinstance(given, str):
            return given
        return self.task.removeprefix(ROUTED) if self.task.startswith(ROUTED) else None

    def arguments_json(self) -> str:
        return orjson.dumps({"args": list(self.args), "kwargs": dict(self.kwargs)}).decode()


def as_prompt(action: Action) -> Action:
    """The same prompt as the task `prompt`, with every argument by name, also the agent in `prompt:claude`."""
    named = dict(zip(("prompt", "agent", "data"), action.args, strict=False))
    kwargs = {**named, **action.kwargs}
    if kwargs.get("agent") is None and (agent := Action(action.task).agent) is not None:
        kwargs["agent"] = agent
    return Action(PROMPT, action.args[3:], kwargs)


def check_arguments_size(action: Action) -> Err | None:
    """None if the arguments are plain JSON and neither too large nor too deeply nested."""
    if _depth(action.args) > MAX_DEPTH or _depth(action.kwargs) > MAX_DEPTH:
        return Err("bad_arguments", f"The arguments are nested deeper than {MAX_DEPTH} levels.", "Flatten them.")
    if (flaw := _flaw(action.args) or _flaw(action.kwargs)) is not None:
        return Err("bad_arguments", f"The arguments aren't plain JSON: {flaw}.", "Use JSON values only.")
    try:
        size = len(action.arguments_json().encode()) + _zeros(action.args) + _zeros(action.kwargs)
    except (TypeError, ValueError) as error:
        return Err("bad_arguments", f"The arguments aren't plain JSON: {error}.", "Use JSON values only.")
    if size > MAX_ARGUMENT_BYTES:
        return Err(
            "bad_arguments",
            f"The arguments are {size} bytes; at most {MAX_ARGUMENT_BYTES} are kept.",
            "Store the data elsewhere and pass a reference to it.",
        )
    return None


def _flaw(value: object) -> str | None:
    """A value that can't be stored as it is: NaN would become null, and PostgreSQL can't store a NUL character."""
    if isinstance(value, float) and not isfinite(value):
        return f"{value} is not a JSON number"
    if isinstance(value, str):
        return "text with a NUL character" if "\0" in value else None
    return next((flaw for member in _members(value) if (flaw := _flaw(member))), None)


def _zeros(value: object) -> int:
    """Digits that PostgreSQL writes out for numbers that JSON has with an exponent: `1e300` takes 301 bytes there."""
    if isinstance(value, float):
        return abs(floor(log10(abs(value)))) if value else 0
    return sum(map(_zeros, _members(value)))


def _members(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType, reportUnknownVariableType]
    return list(value) if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _depth(value: object, level: int = 0) -> int:
    """How deeply containers nest. It stops counting just past the limit, so that hostile input costs little."""
    if level > MAX_DEPTH or not isinstance(value, list | tuple | dict):
        return level
    return max((_depth(member, level + 1) for member in _members(cast("object", value))), default=level + 1)
