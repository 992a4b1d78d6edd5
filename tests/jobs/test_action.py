"""What a run does, and how much of it is kept."""

import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronty.jobs.action import MAX_ARGUMENT_BYTES, MAX_DEPTH, Action, check_arguments_size

plain_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=5), inner, max_size=4),
    max_leaves=20,
)


def nested(levels: int) -> object:
    value: object = []
    for _ in range(levels - 1):
        value = [value]
    return value


def of_size(size: int, letter: str = "x") -> Action:
    """An action whose arguments are written in so many bytes."""
    empty = len(Action("t", ("",)).arguments_json())
    return Action("t", (letter * ((size - empty) // len(letter.encode())),))


@pytest.mark.parametrize(
    ("task", "kind"),
    [("notify", "notify"), ("prompt", "prompt"), ("webhook", "webhook"), ("run_backup", "task"), ("Notify", "task")],
)
def test_the_kind_of_an_action_follows_from_its_name(task: str, kind: str) -> None:
    assert Action(task).kind == kind


@given(st.lists(plain_json, max_size=3), st.dictionaries(st.text("abc", max_size=5), plain_json, max_size=3))
def test_arguments_are_read_back_as_they_were_given(args: list[object], kwargs: dict[str, object]) -> None:
    action = Action("t", tuple(args), kwargs)
    assert check_arguments_size(action) is None
    assert orjson.loads(action.arguments_json()) == {"args": args, "kwargs": kwargs}


def test_arguments_of_64_kib_are_kept_and_not_a_byte_more() -> None:
    assert check_arguments_size(of_size(MAX_ARGUMENT_BYTES)) is None
    refused = check_arguments_size(of_size(MAX_ARGUMENT_BYTES + 1))
    assert refused is not None
    assert (refused.code, refused.message) == (
        "bad_arguments",
        "The arguments are 65537 bytes; at most 65536 are kept.",
    )


def test_numbers_count_as_they_are_written_out() -> None:
    """The database writes 1e300 with 301 digits, and so does every page that reads it."""
    assert check_arguments_size(Action("t", ([1e300, -1e-300, 0.0],))) is None
    refused = check_arguments_size(Action("t", ([1e300] * 300,)))
    assert refused is not None
    assert refused.code == "bad_arguments"


def test_bytes_are_counted_and_not_characters() -> None:
    assert check_arguments_size(of_size(MAX_ARGUMENT_BYTES + 2, "é")) is not None


def test_arguments_nest_32_levels_and_not_one_more() -> None:
    for levels, good in ((MAX_DEPTH - 1, True), (MAX_DEPTH + 1, False), (500, False)):
        for action in (Action("t", (nested(levels),)), Action("t", (), {"x": nested(levels)})):
            assert (check_arguments_size(action) is None) == good, levels


def test_what_is_too_large_is_looked_at_no_further() -> None:
    """Neither for its depth nor for its flaws: those take a look at every value."""
    for flaw in (nested(MAX_DEPTH + 1), "\0"):
        many: list[object] = [[]] * MAX_ARGUMENT_BYTES
        refused = check_arguments_size(Action("t", (*many, flaw)))
        assert refused is not None
        assert refused.message.endswith("bytes; at most 65536 are kept.")


def test_a_structure_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    refused = check_arguments_size(Action("t", (endless,)))
    assert refused is not None
    assert "deeper than 32 levels" in refused.message


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", 1j, {1: "x"}, 2**70, "\ud800"])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    refused = check_arguments_size(Action("t", (value,)))
    assert refused is not None
    assert refused.message.startswith("The arguments aren't plain JSON: ")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_json_cannot_hold_is_refused(number: float) -> None:
    for value in (number, [number], {"x": [number]}):
        assert check_arguments_size(Action("t", (value,))) is not None
        assert check_arguments_size(Action("t", (), {"x": value})) is not None


def test_a_nul_character_is_refused_because_the_database_cannot_hold_it() -> None:
    assert check_arguments_size(Action("t", ("a\0b",))) is not None
