"""The operations of the table as tools: their schemas, kept short for models, and how they are called."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from mcp.types import CallToolResult, Tool

from cronty.contract.answers import to_json
from cronty.contract.caller import Caller
from cronty.contract.operations import ALL, AnyOperation
from cronty.contract.result import Err, Ok
from cronty.mcp.answers import answer, as_error, refuse, sentence
from cronty.mcp.arguments import fit
from cronty.mcp.tool import Group, Tidy, annotations_of, described, or_null
from cronty.mcp.when import tidy
from cronty.scheduler.service import Service

type Schema = dict[str, Any]

GROUPS: Final[Mapping[str, Group]] = {
    "jobs": "jobs",
    "runs": "jobs",
    "inbox": "inbox",
    "time": "time",
    "messages": "notifications",
}
TIDY: Final[dict[str, Tidy]] = {"schedule_job": tidy, "edit_job": tidy}
"""Models write schedules in many ways; these calls accept them."""

PROTOCOL_ERRORS: Final = frozenset({"get_current_time"})
"""Calls whose refusals are a sentence, as in the notifications dialect; others answer with the key `error`."""

ORDINARY: Final = frozenset({"schedule_job", "list_jobs", "job_status"})
"""Calls of the jobs dialect: a refusal is an ordinary result, for every other call it is an MCP tool error."""

CLEAR: Final = "clear"
CLEARED: Final = 'Fields to empty, e.g. ["max_runs"] for no limit.'
FAILURE: Final = {"error": {"type": "string"}, "hint": {"type": "string"}}
"""The fields of an error, returned in place of the answer."""

CHOICES: Final = {"choices": {"type": "array", "items": {"type": "object"}}}
"""What an ambiguous schedule may mean, in an error of a call that takes one."""


def table_tools() -> dict[str, AnyOperation]:
    return {name: operation for name, operation in ALL.items() if operation.tool}


def group_of(operation: AnyOperation) -> Group:
    return GROUPS[operation.group]


@cache
def tool_of(operation: AnyOperation) -> Tool:
    return Tool(
        name=operation.name,
        title=operation.title,
        description=described(operation.description, operation.example),
        input_schema=_input_schema(operation),
        output_schema=_output_schema(operation),
        annotations=annotations_of(operation),
    )


async def call(
    operation: AnyOperation, service: Service, caller: Caller, arguments: Mapping[str, object]
) -> CallToolResult:
    """Raises `BadArguments` for arguments that can't be understood."""
    given = TIDY[operation.name](arguments) if operation.name in TIDY else arguments
    fitted = fit(tool_of(operation).input_schema, given)
    emptied = cast("list[str]", fitted.pop(CLEAR, []))
    request = operation.read(fitted | dict.fromkeys(emptied))
    result = await service.answer(operation, caller, request.value) if isinstance(request, Ok) else request
    if isinstance(result, Err):
        if operation.name in PROTOCOL_ERRORS:
            refuse(sentence(result))
        return as_error(result, ordinary=operation.name in ORDINARY)
    return answer(to_json(result.value))


def _input_schema(operation: AnyOperation) -> Schema:
    """Models send null for what they leave out, so null isn't allowed; fields to empty are named in `clear`."""
    fields = {name: _without_null(schema) for name, schema in operation.fields.items()}
    if names := [name for name, schema in operation.fields.items() if _can_be_emptied(schema)]:
        items = {"type": "string", "enum": names}
        fields[CLEAR] = {
            "type": "array",
            "items": items,
            "description": CLEARED,
        }
    required = {"required": operation.required} if operation.required else {}
    return {"type": "object", "properties": fields, **required, "additionalProperties": False}


def _can_be_emptied(schema: Mapping[str, Any]) -> bool:
    """Whether null is a value of an edit's field, and not its default."""
    return {"type": "null"} in schema.get("anyOf", ()) and "default" not in schema


def _without_null(schema: Mapping[str, Any]) -> Schema:
    slim = {key: value for key, value in schema.items() if key not in ("title", "additionalProperties", "format")}
    if "default" in slim and slim["default"] is None:
        del slim["default"]
    rest = [dict(one) for one in slim.get("anyOf", ()) if one != {"type": "null"}]
    if len(rest) != 1:
        return slim
    return _without_null({**rest[0], **{key: value for key, value in slim.items() if key != "anyOf"}})


def _output_schema(operation: AnyOperation) -> Schema:
    """The schema with its definitions inlined: not every client follows a `$ref`."""
    schema = operation.answers.json_schema(mode="serialization")
    made = cast("Schema", _slim(schema, schema.get("$defs", {})))
    failure = FAILURE | (CHOICES if {"trigger_config", "schedule"} & operation.fields.keys() else {})
    return {"type": "object", "properties": {**failure, **made["properties"]}}


def _slim(node: object, definitions: Mapping[str, object]) -> object:
    if isinstance(node, list):
        return [_slim(one, definitions) for one in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("Schema", node)
    if "$ref" in schema:
        return _slim(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    left_out = ("title", "description", "default", "format", "required", "additionalProperties", "$defs")
    slim = {key: value for key, value in schema.items() if key not in left_out}
    if "properties" in slim:
        slim["properties"] = {name: _slim(one, definitions) for name, one in slim["properties"].items()}
        return slim
    return or_null({key: _slim(value, definitions) for key, value in slim.items()})
