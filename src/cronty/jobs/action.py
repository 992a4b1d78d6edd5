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
    """None if the arguments are plain JSON and neither too large nor too deeply nested. The size comes first: what is
    too large is looked at no further."""
    size, unwritable = 0, None
    try:
        size = len(action.arguments_json().encode())
    except (TypeError, ValueError) as error:
        unwritable = str(error)
    if size > MAX_ARGUMENT_BYTES:
        return _too_large(f"{size}")
    found = _look_through([action.args, action.kwargs])
    if found.deep:
        return Err("bad_arguments", f"The arguments are nested deeper than {MAX_DEPTH} levels.", "Flatten them.")
    if (flaw := found.flaw or unwritable) is not None:
        return Err("bad_arguments", f"The arguments aren't plain JSON: {flaw}.", "Use JSON values only.")
    size += found.zeros
    return _too_large(f"{size}") if size > MAX_ARGUMENT_BYTES else None


def _too_large(size: str) -> Err:
    return Err(
        "bad_arguments",
        f"The arguments are {size} bytes; at most {MAX_ARGUMENT_BYTES} are kept.",
        "Store the data elsewhere and pass a reference to it.",
    )


@dataclass(slots=True)
class _Seen:
    """What was found in arguments: a value that can't be stored as it is, and the digits that PostgreSQL writes out for
    numbers that JSON has with an exponent (`1e300` takes 301 bytes there)."""

    deep: bool = False
    flaw: str | None = None
    zeros: int = 0

    def note(self, value: object) -> None:
        if isinstance(value, str):
            if "\0" in value:  # PostgreSQL can't store it
                self.flaw = self.flaw or "text with a NUL character"
        elif isinstance(value, float):
            if not isfinite(value):  # it would become null
                self.flaw = self.flaw or f"{value} is not a JSON number"
            elif value:
                self.zeros += abs(floor(log10(abs(value))))


def _look_through(values: list[object]) -> _Seen:
    """Look at every value once, level by level; no further than arguments of the allowed size and depth can go."""
    seen, level, count = _Seen(), values, 0
    for _ in range(MAX_DEPTH):
        members: list[object] = []
        for value in level:
            if isinstance(value, dict):
                held = cast("dict[object, object]", value)
                members += held.keys()
                members += held.values()
            elif isinstance(value, list | tuple):
                members += cast("list[object]", value)
            else:
                seen.note(value)
        count += len(members)
        if not members or count > 2 * MAX_ARGUMENT_BYTES:
            return seen
        level = members
    for value in level:
        seen.note(value)
        seen.deep = seen.deep or isinstance(value, dict | list | tuple)
    return seen
