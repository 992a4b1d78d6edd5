"""Makes an SDK tool from a function: short schemas, all four hints, tolerant arguments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, cast

import orjson
from mcp.server.mcpserver.tools import Tool
from mcp.types import Tool as ListedTool
from mcp.types import ToolAnnotations

from cronty.contract.operations import AnyOperation
from cronty.jobs.action import ActionKind

type Group = Literal["jobs", "notifications", "agenda", "inbox", "time"]
type Tidy = Callable[[Mapping[str, object]], dict[str, object]]

RENAMED: Final = {"from_": "from"}
"""Parameters whose name is a Python keyword."""


class Spec:
    """A tool; its description is the function's docstring, its parameters are the function's."""

    def __init__(
        self,
        function: Callable[..., Any],
        title: str,
        group: Group,
        operation: AnyOperation,
        kind: ActionKind | None = None,
        tidy: Tidy | None = None,
    ) -> None:
        """`operation` is what the tool asks for: its scope and its hints hold for the tool. `kind` is what its jobs do,
        if it is for one kind of job."""
        self.function = function
        self.title = title
        self.group: Group = group
        self.operation = operation
        self.kind: ActionKind | None = kind
        self.tidy = tidy

    @property
    def name(self) -> str:
        return self.function.__name__


def make_tool(spec: Spec) -> Tool:
    description = " ".join((spec.function.__doc__ or "").split())
    tool = Tool.from_function(
        spec.function, title=spec.title, description=description, annotations=annotations_of(spec.operation)
    )
    tool.parameters = _input_schema(tool.parameters)
    if tool.fn_metadata.output_schema is not None:
        tool.fn_metadata.output_schema = cast("dict[str, Any]", _slim(tool.fn_metadata.output_schema))
    return tool


def annotations_of(operation: AnyOperation) -> ToolAnnotations:
    hints = operation.hints
    return ToolAnnotations(
        read_only_hint=hints.read_only,
        destructive_hint=hints.destructive,
        idempotent_hint=hints.idempotent,
        open_world_hint=hints.open_world,
    )


def listed(tool: Tool) -> ListedTool:
    """A tool as clients see it."""
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.parameters,
        output_schema=tool.output_schema,
        annotations=tool.annotations,
    )


def described(description: str, example: Mapping[str, object]) -> str:
    return f"{description} Example: {orjson.dumps(example).decode()}" if example else description


def _input_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    slim = cast("dict[str, Any]", _slim(schema))
    properties = slim.get("properties", {})
    slim["properties"] = {RENAMED.get(name, name): value for name, value in properties.items()}
    slim["additionalProperties"] = False
    return slim


def _slim(node: object) -> object:
    """A schema without parts that only cost tokens: titles, null as a choice, null as the default."""
    if isinstance(node, list):
        return [_slim(item) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    slim = {
        key: _each(value) if key in ("properties", "$defs") else _slim(value)
        for key, value in schema.items()
        if key not in ("title", "additionalProperties") and not (key == "default" and value is None)
    }
    choices = cast("Sequence[object]", slim.get("anyOf", ()))
    rest = [choice for choice in choices if choice != {"type": "null"}]
    if len(choices) == 2 and len(rest) == 1 and isinstance(rest[0], dict) and "description" in slim:
        slim.pop("anyOf")
        slim = {**cast("dict[str, Any]", rest[0]), **slim}
    return or_null(slim)


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of one type or null, said in fewer words."""
    match schema.get("anyOf"):
        case [{"type": str(kind)} as one, {"type": "null"}]:
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return {**cast("dict[str, Any]", one), "type": [kind, "null"], **rest}
        case _:
            return schema


def _each(properties: Mapping[str, object]) -> dict[str, object]:
    """Slim each property, but keep its name: a property may be called `title`."""
    return {name: _slim(value) for name, value in properties.items()}
