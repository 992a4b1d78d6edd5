"""A request that goes over HTTP and an answer that comes back are the same at the other end."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronty.contract.answers import to_json
from cronty.contract.http import Arrived, call_of, fields_of
from cronty.contract.operation import UNSET
from cronty.contract.operations import ALL, AnyOperation, Operations
from cronty.contract.requests import EditJob, ListJobs
from cronty.contract.result import Ok

ANSWERING = [one for one in ALL.values() if one.answer is not type(None)]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
PLAIN = st.text("abcdefgh-_0123456789", min_size=1, max_size=12)
JSON = st.dictionaries(PLAIN, st.none() | st.booleans() | st.integers(-9, 9) | TEXTS, max_size=3)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2050, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def values_of(name: str, schema: Mapping[str, Any]) -> st.SearchStrategy[object]:
    """What may stand in a field, by its schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([values_of(name, one) for one in schema["anyOf"]])
    match schema.get("type"):
        case "integer":
            return st.integers(0, 2**40)
        case "number":
            return st.floats(0, 1000, allow_nan=False)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values_of(name, schema.get("items", {})), max_size=3)
        case "object":
            return JSON
        case "null":
            return st.none()
        case _:
            # A header holds what HTTP allows, and a path has no empty part.
            return PLAIN if name in ("idempotency_key", "job_id", "run_id", "name") else TEXTS


@st.composite
def asked(draw: st.DrawFn, operation: AnyOperation) -> dict[str, object]:
    names = [name for name in operation.fields if name in operation.required or draw(st.booleans())]
    return {name: draw(values_of(name, operation.fields[name])) for name in names}


def over_http(operation: AnyOperation, request: object) -> Arrived:
    """What a server sees of what a client sends."""
    call = call_of(operation, request)
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    parts = [
        part for part, pattern in zip(call.path.split("/"), operation.path.split("/"), strict=True) if "{" in pattern
    ]
    query = parse_qsl(urlencode(call.query, doseq=True), keep_blank_values=True)
    body: dict[str, object] = {} if call.body is None else orjson.loads(orjson.dumps(call.body))
    headers = {name.lower(): value for name, value in call.headers.items()}
    return Arrived(dict(zip(names, map(unquote, parts), strict=True)), query, headers, body)


@pytest.mark.parametrize("operation", ALL.values(), ids=lambda one: one.name)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_request_arrives_as_it_was_sent(operation: AnyOperation, data: st.DataObject) -> None:
    sent = operation.read(data.draw(asked(operation)))
    assert isinstance(sent, Ok), sent
    arrived = fields_of(operation, over_http(operation, sent.value))
    assert isinstance(arrived, Ok), arrived
    assert operation.read(arrived.value) == sent


def test_left_out_emptied_and_set_are_told_apart() -> None:
    for request in (EditJob("1"), EditJob("1", max_runs=None), EditJob("1", max_runs=3)):
        arrived = fields_of(Operations.edit_job, over_http(Operations.edit_job, request))
        assert isinstance(arrived, Ok)
        assert Operations.edit_job.read(arrived.value) == Ok(request)
    assert EditJob("1").max_runs is UNSET


def test_a_field_has_its_other_name_only_outside_of_python() -> None:
    call = call_of(Operations.list_jobs, ListJobs(since="2027-01-31"))
    assert call.query == {"from": "2027-01-31"}


@pytest.mark.parametrize(
    "operation", [one for one in ALL.values() if one.answer is not type(None)], ids=lambda one: one.name
)
def test_an_answer_is_the_same_after_json(operation: AnyOperation) -> None:
    answer = operation.answers.validate_json(orjson.dumps(operation.answer.EXAMPLE))
    again = operation.answers.validate_json(orjson.dumps(to_json(answer)))
    assert again == answer
    assert to_json(again) == to_json(answer)


@pytest.mark.parametrize("operation", ALL.values(), ids=lambda one: one.name)
def test_every_operation_and_field_says_what_it_is_for(operation: AnyOperation) -> None:
    assert operation.description
    assert [name for name in operation.fields if not operation.meaning_of(name)] == []
    assert isinstance(operation.read(operation.example), Ok) or not operation.example
