"""What a run does: a registered task by name, with JSON arguments and never code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import orjson

from cronty.jobs.result import Err

MAX_ARGUMENT_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 32

ActionKind = Literal["task", "notify", "prompt", "webhook"]
BUILT_IN: Final[Mapping[str, ActionKind]] = {"notify": "notify", "prompt": "prompt", "webhook": "webhook"}


@dataclass(frozen=True, slots=True)
class Action:
    """`task` is the name a worker registered; `notify`, `prompt` and `webhook` are names like any other."""

    task: str
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def kind(self) -> ActionKind:
        return BUILT_IN.get(self.task, "task")

    def arguments_json(self) -> str:
        return orjson.dumps({"args": list(self.args), "kwargs": dict(self.kwargs)}).decode()


def check_arguments_size(action: Action) -> Err | None:
    """None if the arguments are plain JSON of a size and depth we keep."""
    if _depth(action.args) > MAX_DEPTH or _depth(action.kwargs) > MAX_DEPTH:
        return Err("bad_arguments", f"The arguments are nested deeper than {MAX_DEPTH} levels.", "Flatten them.")
    try:
        size = len(action.arguments_json())
    except (TypeError, ValueError) as error:
        return Err("bad_arguments", f"The arguments aren't plain JSON: {error}.", "Use JSON values only.")
    if size > MAX_ARGUMENT_BYTES:
        return Err(
            "bad_arguments",
            f"The arguments are {size} bytes; at most {MAX_ARGUMENT_BYTES} are kept.",
            "Store the data elsewhere and pass a reference to it.",
        )
    return None


def _depth(value: object, level: int = 0) -> int:
    """How deeply containers nest; stops counting just past the limit, so hostile input costs little."""
    if level > MAX_DEPTH or not isinstance(value, list | tuple | dict):
        return level
    members: list[object] = list(value.values() if isinstance(value, dict) else value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    return max((_depth(member, level + 1) for member in members), default=level + 1)
