"""Arguments against the parameters a task has published."""

from collections.abc import Callable
from typing import Any, TypedDict

import orjson
import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry, describe_parameters
from cronty.contract.result import Err
from cronty.jobs.action import Action
from cronty.jobs.arguments import check_arguments, signature_of


class Point(TypedDict):
    x: int
    y: int


def backup(path: str, compress: bool = True) -> None:
    """Back up a folder."""


def anything(*args: object, **kwargs: object) -> None: ...


def one_and_more(first: int, *more: int) -> None: ...


def only_by_name(*, to: str, copies: int = 1) -> None: ...


def untyped(a: Any, b: Any = None) -> None: ...


def lines(points: list[Point]) -> None: ...


def numbers(values: list[int]) -> None: ...


def by_position(a: int, /) -> None: ...


def check(function: Callable[..., object], *args: object, **kwargs: object) -> Err | None:
    """What a door says that only knows what a worker published."""
    name, parameters, _, _ = Registry({"task": Registry().add(function, "task")}).published()[0]
    return check_arguments(Action(name, args, kwargs), orjson.loads(parameters))


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (backup, ("/data",), {}),
        (backup, ("/data", False), {}),
        (backup, (), {"path": "/data"}),
        (backup, ("/data",), {"compress": False}),
        (anything, (), {}),
        (anything, (1, "two", None), {"three": [3]}),
        (one_and_more, (1,), {}),
        (one_and_more, (1, 2, 3), {}),
        (only_by_name, (), {"to": "me"}),
        (untyped, (1,), {}),
        (untyped, ([1, {"x": None}],), {"b": "x"}),
        (numbers, ([1, 2],), {}),
    ],
)
def test_a_task_may_be_called_as_python_would_allow(
    function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    assert check(function, *args, **kwargs) is None


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "named"),
    [
        (backup, (), {}, "'path'"),
        (backup, (), {"compress": True}, "'path'"),
        (backup, ("/data",), {"level": 9}, "'level'"),
        (backup, ("/data", True, 9), {}, "it takes at most 2 in args, not 3"),
        (backup, ("/data",), {"path": "/data"}, "'path' is given both by position and by name"),
        (backup, (5,), {}, "5 is not of type 'string'"),
        (backup, ("/data",), {"compress": "yes"}, "'yes' is not of type 'boolean'"),
        (backup, (None,), {}, "None is not of type 'string'"),
        (one_and_more, (), {}, "'first'"),
        (only_by_name, ("me",), {}, "it takes at most 0 in args, not 1"),
        (only_by_name, (), {}, "'to'"),
        (numbers, ([1, "two"],), {}, "'two' is not of type 'integer'"),
    ],
)
def test_what_python_would_refuse_is_refused_with_the_way_to_call_it(
    function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object], named: str
) -> None:
    refused = check(function, *args, **kwargs)
    assert refused is not None
    assert refused.code == "bad_arguments"
    assert refused.message.startswith("Task 'task' can't be called with these arguments: ")
    assert named in refused.message
    assert refused.hint.startswith("Call it as task(")


def test_a_parameter_made_of_other_types_is_checked_too() -> None:
    assert check(lines, [{"x": 1, "y": 2}]) is None
    refused = check(lines, [{"x": 1}])
    assert refused is not None
    assert "'y'" in refused.message


def test_a_tuple_is_an_array_as_it_will_be_when_it_is_written() -> None:
    assert check(numbers, (1, 2)) is None


def test_a_parameter_that_has_no_name_for_callers_is_refused_by_name() -> None:
    assert check(by_position, 1) is None
    assert check(by_position, a=1) is not None


def test_a_huge_value_is_not_repeated_in_the_refusal() -> None:
    refused = check(numbers, "x" * 60_000)
    assert refused is not None
    assert len(refused.message) < 1000


def test_parameters_are_a_schema_of_the_keyword_form() -> None:
    assert describe_parameters(backup) == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "compress": {"type": "boolean", "default": True}},
        "additionalProperties": False,
        "required": ["path"],
        "positional": ["path", "compress"],
    }


def test_a_task_that_takes_more_says_so() -> None:
    described = describe_parameters(anything)
    assert described["more_positional"] is True
    assert described["additionalProperties"] is True
    assert (described["required"], described["positional"]) == ([], [])


def test_a_keyword_only_parameter_is_never_filled_by_position() -> None:
    described = describe_parameters(only_by_name)
    assert (described["required"], described["positional"]) == (["to"], [])


def test_a_type_or_a_default_that_json_cannot_hold_costs_only_its_check() -> None:
    def odd(a: Connection, b: object = object, c: Callable[[], None] = print) -> None: ...

    described = describe_parameters(odd)
    assert described["required"] == ["a"]
    assert check_arguments(Action("odd", (1,)), described) is None


def test_a_type_that_cannot_be_found_costs_only_the_checks() -> None:
    def odd(a: int) -> None: ...

    odd.__annotations__["a"] = "Nowhere"
    assert check_arguments(Action("odd", ("x",)), describe_parameters(odd)) is None


def test_a_signature_reads_like_one() -> None:
    assert signature_of("backup", describe_parameters(backup)) == "backup(path: string, compress: boolean = true)"


def test_a_task_is_published_with_its_doc() -> None:
    made = Registry()
    made.add(backup)
    [(name, parameters, doc, _)] = made.published()
    assert (name, doc) == ("backup", "Back up a folder.")
    assert orjson.loads(parameters) == describe_parameters(backup)
