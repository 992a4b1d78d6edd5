"""An expected outcome is a value."""

from dataclasses import FrozenInstanceError

import pytest

from cronty.contract.result import Err


def test_an_err_needs_no_more_than_a_code() -> None:
    assert Err("not_found") == Err("not_found", "", "")


def test_a_result_cannot_be_changed_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        Err("not_found").code = "found"  # pyright: ignore[reportAttributeAccessIssue]
