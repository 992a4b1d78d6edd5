"""The OpenAPI description of the routes, made from the table."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from cronty.contract import answers, answers_of_owner
from cronty.contract.answers import Answer
from cronty.contract.caller import MEANINGS, Scope
from cronty.contract.codes import CODES, status_of
from cronty.contract.http import HEADERS, PREFIX, place_of
from cronty.contract.operations import ALL, AnyOperation
from cronty.web.problems import PROBLEM_JSON, title_of

ALWAYS: Final = (401, 403, 421, 422, 429, 500, 503)
"""What any call may return: no token, not allowed, wrong host, bad request, too many, internal error, no database."""

DESCRIPTION: Final = f"""\
Durable schedules. Send a key as `Authorization: Bearer <key>`. It decides whose jobs you see, its scopes what you may:

{chr(10).join(f"- `{scope}`: {meaning}" for scope, meaning in MEANINGS.items())}

Failures are problem details (RFC 9457): `code` is for programs, `detail` says what was wrong, `hint` what to do next,
`field` which field was wrong, `choices` what an ambiguous schedule may mean. Another owner's id is answered like one
that doesn't exist. An id is accepted in any of its forms.
"""
PROBLEM: Final = {
    "description": "Problem details (RFC 9457): what went wrong, for programs (`code`) and for people (`detail`).",
    "type": "object",
    "properties": {
        "type": {"type": "string", "description": "`urn:cronty:problem:` and the code."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "What went wrong, for programs: the same codes on every surface."},
        "detail": {"type": "string", "description": "What was wrong, with the value."},
        "hint": {"type": "string", "description": "What to do next."},
        "field": {"type": "string", "description": "The field of the request that was wrong, if it was one."},
        "choices": {
            "type": "array",
            "description": "What an ambiguous schedule may mean: repeat the request with the words of one.",
            "items": {
                "type": "object",
                "properties": {
                    "words": {"type": "string", "description": "Words that mean only this."},
                    "description": {"type": "string", "description": "What they mean, and what else to know."},
                    "next_at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
                },
                "required": ["words", "description", "next_at"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["type", "title", "status", "code", "detail"],
    "additionalProperties": False,
}
EVENTS: Final = {
    "operationId": "events",
    "summary": "Listen to runs",
    "tags": ["runs"],
    "parameters": [
        {
            "name": "after", "in": "query", "schema": {"type": "string"},
            "description": "Begin after this moment. Default: now.",
        },
        {
            "name": "Last-Event-ID", "in": "header", "schema": {"type": "string"},
            "description": "Where to continue after a lost connection; browsers send it.",
        },
    ],
}  # fmt: skip
ETAG: Final = {"ETag": {"description": "The job's version, for If-Match.", "schema": {"type": "string"}}}
LOCATION: Final = {"Location": {"description": "Where it is.", "schema": {"type": "string"}}}


@cache
def openapi_document() -> dict[str, Any]:
    schemas = _answers() | {"Problem": PROBLEM}
    paths: dict[str, dict[str, Any]] = {}
    for operation in ALL.values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
        if (body := _body(operation)) is not None:
            schemas[_body_name(operation)] = body
    paths["/events"] = {"get": _events()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Cronty", "version": version("cronty"), "description": DESCRIPTION},
        "servers": [{"url": PREFIX}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
        },
    }


def _operation(operation: AnyOperation) -> dict[str, Any]:
    described: dict[str, Any] = {
        **_summary(operation.scope, operation.needs, operation.description),
        "operationId": operation.name,
        "summary": operation.title,
        "tags": [operation.group],
        "responses": _responses(operation),
    }
    parameters = [_parameter(operation, name) for name in operation.fields if place_of(operation, name) != "body"]
    if operation.name == "job_status":
        parameters.append(_header("If-None-Match", "Answer 304 if it still has this ETag."))
    if parameters:
        described["parameters"] = parameters
    if _body(operation) is not None:
        schema = {"$ref": f"#/components/schemas/{_body_name(operation)}"}
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return described


def _summary(scope: Scope | None, needs: str, description: str) -> dict[str, Any]:
    return {
        "description": f"{description}\n\nNeeds {needs}.", "x-scope": scope or "any", "security": [{"key": []}],
    }  # fmt: skip


def _parameter(operation: AnyOperation, name: str) -> dict[str, Any]:
    place, schema = place_of(operation, name), dict(operation.fields[name])
    description = schema.pop("description", "")
    if place == "header":
        return _header(HEADERS[name], description)
    required = {"required": True} if place == "path" or name in operation.required else {}
    example = {"example": operation.example[name]} if name in operation.example else {}
    return {"name": name, "in": place, "description": description, "schema": schema, **required, **example}


def _header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": description, "schema": {"type": "string"}}


def _body_name(operation: AnyOperation) -> str:
    return f"{getattr(operation.request, '__name__', operation.name)}Body"


def _body(operation: AnyOperation) -> dict[str, Any] | None:
    fields = {name: schema for name, schema in operation.fields.items() if place_of(operation, name) == "body"}
    if not fields:
        return None
    return {
        "type": "object",
        "properties": fields,
        "required": [name for name in operation.required if name in fields],
        "additionalProperties": False,
        "examples": [{name: value for name, value in operation.example.items() if name in fields}],
    }


def _answers() -> dict[str, Any]:
    """The schemas of all answers, each with its example."""
    kinds: dict[str, type[Answer]] = {
        kind.__name__: kind
        for module in (answers, answers_of_owner)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Answer) and "EXAMPLE" in vars(kind)
    }
    adapters = [(name, "serialization", TypeAdapter(kind)) for name, kind in kinds.items()]
    _, made = TypeAdapter.json_schemas(adapters, ref_template="#/components/schemas/{model}", schema_generator=_Closed)  # type: ignore[arg-type]
    schemas: dict[str, Any] = made["$defs"]
    return {name: {**schema, "examples": [getattr(kinds[name], "EXAMPLE")]} for name, schema in schemas.items()}  # noqa: B009


class _Closed(GenerateJsonSchema):
    """Answers have no undescribed fields."""

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        return {**super().dataclass_schema(schema), "additionalProperties": False}


def _responses(operation: AnyOperation) -> dict[str, Any]:
    found = {*ALWAYS, *(status_of(code) for code in operation.refusals)}
    found |= {404} if "{" in operation.path else set()
    found |= {413} if _body(operation) is not None else set()
    responses = {str(status): _failure(status) for status in sorted(found)}
    if operation.name == "job_status":
        responses["304"] = {"description": title_of(304)}
    good: dict[str, Any] = {"description": title_of(operation.status)}
    if operation.answer is not type(None):
        reference = {"$ref": f"#/components/schemas/{operation.answer.__name__}"}
        good["content"] = {"application/json": {"schema": reference, "example": getattr(operation.answer, "EXAMPLE")}}  # noqa: B009
    if operation.answer.__name__ in ("ScheduledJob", "JobDetail") and operation.method != "POST":
        good["headers"] = ETAG
    if operation.status == 201 and operation.group == "jobs":
        good["headers"] = ETAG | LOCATION
    return dict(sorted({**responses, str(operation.status): good}.items()))


def _failure(status: int) -> dict[str, Any]:
    code = next(code for code, one in CODES.items() if one.status == status)
    example = {
        "type": f"urn:cronty:problem:{code}", "title": title_of(status), "status": status, "code": code,
        "detail": CODES[code].meaning,
    }  # fmt: skip
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    return {"description": title_of(status), "content": {PROBLEM_JSON: content}}


def _events() -> dict[str, Any]:
    description = (
        "Server-sent events of what happens to runs: `event: run` with its job, slot, verdict, attempt and reason as "
        "JSON. Send the `id` of the last one as `Last-Event-ID` to continue after it. The `id` never goes back, while "
        "an event that a worker wrote late keeps its own `at`. Comments keep the connection alive."
    )
    stream = {"schema": {"type": "string"}, "example": _example(answers_of_owner.RunEvent.EXAMPLE)}
    failures = {str(status): _failure(status) for status in ALWAYS}
    begins = {"Last-Event-ID": {"description": "Where the stream begins.", "schema": {"type": "string"}}}
    good = {"description": title_of(200), "content": {"text/event-stream": stream}, "headers": begins}
    return {**_summary("read", "the scope `read`", description), **EVENTS, "responses": {"200": good, **failures}}


def _example(event: Mapping[str, object]) -> str:
    return f"id: {event['at']}\nevent: run\ndata: {event}\n\n".replace("'", '"').replace("None", "null")
