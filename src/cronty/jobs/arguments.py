"""Checks a job's arguments against the parameters that its task has published; the task's code isn't needed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import orjson

from cronty.contract.result import Err
from cronty.jobs.action import Action
from cronty.lazily import imported_when_used

if TYPE_CHECKING:
    import jsonschema
else:
    jsonschema = imported_when_used("jsonschema")


def check_arguments(action: Action, parameters: Mapping[str, object]) -> Err | None:
    """None if the task can be called with the action's arguments; else what is wrong, and how to call the task."""
    by_name = sorted(set(action.kwargs) & set(cast("list[str]", parameters.get("positional_only", []))))
    if by_name:
        return _wrong(action, parameters, f"{by_name[0]!r} can only be given by position, in args")
    positional = cast("list[str]", parameters.get("positional", []))
    given = dict(zip(positional, action.args, strict=False))
    if len(action.args) > len(positional) and not parameters.get("more_positional"):
        return _wrong(action, parameters, f"it takes at most {len(positional)} in args, not {len(action.args)}")
    twice = sorted(set(given) & set(action.kwargs))
    if twice:
        return _wrong(action, parameters, f"{twice[0]!r} is given both by position and by name")
    schema = {**parameters, "$schema": "https://json-schema.org/draft/2020-12/schema"}
    draft = jsonschema.Draft202012Validator
    validator = draft(schema, format_checker=draft.FORMAT_CHECKER)
    written = orjson.loads(action.arguments_json())  # as it will be read back: tuples become arrays
    instance: Any = {**dict(zip(positional, written["args"], strict=False)), **written["kwargs"]}
    for error in validator.iter_errors(instance):  # pyright: ignore[reportUnknownMemberType]
        return _wrong(action, parameters, _problem(error, instance, parameters))
    return None


def signature_of(task: str, parameters: Mapping[str, object]) -> str:
    """The task's signature: `run_backup(path: string, compress: boolean = true)`."""
    properties = cast("dict[str, dict[str, object]]", parameters.get("properties", {}))
    required = set(cast("list[str]", parameters.get("required", [])))
    parts: list[str] = []
    for name, schema in properties.items():
        part = f"{name}: {schema['type']}" if isinstance(schema.get("type"), str) else name
        parts.append(part if name in required else f"{part} = {orjson.dumps(schema.get('default')).decode()}")
    return f"{task}({', '.join(parts)})"


def _problem(error: "jsonschema.ValidationError", instance: dict[str, object], parameters: Mapping[str, object]) -> str:
    """A validation error, in words that fit a function call."""
    where = ".".join(str(part) for part in error.path)
    if not where and error.validator == "required":
        missing = [name for name in cast("list[str]", parameters.get("required", [])) if name not in instance]
        return f"it needs {missing[0]!r}"
    if not where and error.validator == "additionalProperties":
        unknown = sorted(set(instance) - set(cast("dict[str, object]", parameters.get("properties", {}))))
        return f"it has no parameter {unknown[0]!r}"
    return f"{where}: {_shortened(error.message)}"


def _shortened(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:140]} … {message[-140:]}"


def _wrong(action: Action, parameters: Mapping[str, object], problem: str) -> Err:
    return Err(
        "bad_arguments",
        f"Task {action.task!r} can't be called with these arguments: {problem}.",
        f"Call it as {signature_of(action.task, parameters)}.",
    )
