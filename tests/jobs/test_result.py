"""An expected outcome is a value."""

from dataclasses import FrozenInstanceError

import pytest

from cronty.contract.result import Err, Ok, Result


def test_ok_holds_what_was_asked_for() -> None:
    result: Result[int] = Ok(7)
    assert (result.is_ok, result.is_err, result.value) == (True, False, 7)


def test_err_says_what_was_wrong_and_what_to_do() -> None:
    result: Result[int] = Err("not_found", "Job not found: 7", "List yours.")
    assert (result.is_ok, result.is_err) == (False, True)
    assert (result.code, result.message, result.hint) == ("not_found", "Job not found: 7", "List yours.")


def test_an_err_needs_no_more_than_a_code() -> None:
    assert Err("not_found") == Err("not_found", "", "")


def test_a_result_cannot_be_changed_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        Err("not_found").code = "found"  # pyright: ignore[reportAttributeAccessIssue]
