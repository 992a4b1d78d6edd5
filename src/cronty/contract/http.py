"""Where each field of a request goes in HTTP: path, query, header or body. The server, clients and OpenAPI use it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast
from urllib.parse import quote

from cronty.contract.operation import Operation
from cronty.contract.operations import AnyOperation
from cronty.contract.result import Err, Ok, Result

type Place = Literal["path", "query", "header", "body"]

PREFIX: Final = "/api/v1"
HEADERS: Final = {"expected_version": "If-Match", "idempotency_key": "Idempotency-Key"}
_IN_PATH: Final = re.compile(r"{(\w+)}")
_TAG: Final = re.compile(r'"([0-9]{1,18})(?:-[0-9a-f]+)?"')
_NO_VERSION: Final = -1


def place_of(operation: AnyOperation, name: str) -> Place:
    """Where the field with this JSON name goes."""
    if f"{{{name}}}" in operation.path:
        return "path"
    if name in HEADERS:
        return "header"
    return "query" if operation.method in ("GET", "DELETE") else "body"


@dataclass(frozen=True, slots=True)
class Call:
    """A request in HTTP terms."""

    method: str
    path: str
    query: Mapping[str, Any]
    headers: Mapping[str, str]
    body: Mapping[str, object] | None


def call_of[R](operation: Operation[..., R, Any], request: R) -> Call:
    parts: dict[Place, dict[str, Any]] = {"path": {}, "query": {}, "header": {}, "body": {}}
    for name, value in operation.given(request).items():
        parts[place_of(operation, name)][name] = value
    path = _IN_PATH.sub(lambda found: quote(str(parts["path"][found[1]]), safe=""), operation.path)
    headers = {HEADERS[name]: _header(name, value) for name, value in parts["header"].items()}
    with_body = operation.method in ("POST", "PUT", "PATCH")
    return Call(operation.method, path, parts["query"], headers, parts["body"] if with_body else None)


@dataclass(frozen=True, slots=True)
class Arrived:
    """An incoming HTTP request. The query is pairs, because names may repeat; header names are lower case."""

    path: Mapping[str, str]
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Mapping[str, object] = field(default_factory=dict[str, object])


def fields_of(operation: AnyOperation, arrived: Arrived) -> Result[dict[str, object]]:
    """The inverse of `call_of`: the raw fields of a request. Unknown names are kept; `Operation.read` refuses them."""
    queried = [name for name, _ in arrived.query]
    sent: Sequence[tuple[Place, Sequence[str]]] = (("query", queried), ("body", list(arrived.body)))
    for where, names in sent:
        for name in names:
            if name in operation.fields and (right := place_of(operation, name)) != where:
                return Err("bad_request", f"{name} doesn't belong in the {where}.", f"Send it in the {right}.", name)
    found: dict[str, object] = {name: _typed(operation, name, value) for name, value in arrived.query}
    for name, header in HEADERS.items():
        if name in operation.fields and (value := arrived.headers.get(header.lower())) is not None:
            found[name] = _version(value) if name == "expected_version" else value
    path = {name: _typed(operation, name, value) for name, value in arrived.path.items()}
    for name, value in path.items():
        if isinstance(value, str) and "integer" in _kinds(operation, name):
            return Err("not_found", f"There is no {name} {value[:80]}.", "It is a number.", name)
    return Ok({**found, **arrived.body, **path})


def _typed(operation: AnyOperation, name: str, text: str) -> object:
    """A query or path value as an integer if its field takes one and it is one; otherwise unchanged."""
    is_number = "integer" in _kinds(operation, name) and re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII)
    return int(text) if is_number else text


def _kinds(operation: AnyOperation, name: str) -> set[str]:
    schema = operation.fields.get(name, {})
    choices = cast("list[Mapping[str, Any]]", schema.get("anyOf", [schema]))
    return {str(one.get("type")) for one in choices}


def _version(if_match: str) -> int | None:
    """The job version in an If-Match header, ignoring the hash of its runs; None if any version is fine."""
    tags = [one.strip() for one in if_match.split(",")]
    if "*" in tags:
        return None
    return max((int(found[1]) for tag in tags if (found := _TAG.fullmatch(tag))), default=_NO_VERSION)


def _header(name: str, value: object) -> str:
    return f'"{value}"' if name == "expected_version" else str(value)
