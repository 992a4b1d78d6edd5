"""Arguments against the parameters a task has published, without having its code."""

from collections.abc import Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator

from cronty.jobs.action import Action
from cronty.jobs.result import Err


def check_arguments(action: Action, parameters: Mapping[str, object]) -> Err | None:
    """None if the task could be called with them; else what is wrong, and how the task is called."""
    positional = cast("list[str]", parameters.get("positional", []))
    given = dict(zip(positional, action.args, strict=False))
    if len(action.args) > len(positional) and not parameters.get("more_positional"):
        return _wrong(action, parameters, f"takes {len(positional)} positional arguments, not {len(action.args)}")
    twice = sorted(set(given) & set(action.kwargs))
    if twice:
        return _wrong(action, parameters, f"got {twice[0]!r} both by position and by name")
    validator = Draft202012Validator({**parameters, "$schema": "https://json-schema.org/draft/2020-12/schema"})
    instance: Any = {**given, **action.kwargs}
    for error in validator.iter_errors(instance):  # pyright: ignore[reportUnknownMemberType]
        where = "".join(f"[{part!r}]" for part in error.path)
        return _wrong(action, parameters, f"{error.message}{f' at {where}' if where else ''}")
    return None


def signature_of(task: str, parameters: Mapping[str, object]) -> str:
    """How a task is called, in a line: `run_backup(path: string, compress: boolean = true)`."""
    properties = cast("dict[str, dict[str, object]]", parameters.get("properties", {}))
    required = set(cast("list[str]", parameters.get("required", [])))
    parts: list[str] = []
    for name, schema in properties.items():
        part = f"{name}: {schema['type']}" if isinstance(schema.get("type"), str) else name
        parts.append(part if name in required else f"{part} = {schema.get('default')!r}")
    return f"{task}({', '.join(parts)})"


def _wrong(action: Action, parameters: Mapping[str, object], problem: str) -> Err:
    return Err(
        "bad_arguments",
        f"Task {action.task!r} can't be called with these arguments: {problem}.",
        f"Call it as {signature_of(action.task, parameters)}.",
    )
