"""Codes that stand for the key of whoever runs a server on their machine."""

import pytest

from cronty.contract.local_key import LASTS, end_of_code, make_code, new_local_key


def test_a_code_is_good_for_its_purpose_and_its_key_alone() -> None:
    key = new_local_key()
    code = make_code(key, "call")
    assert key not in code
    assert end_of_code(key, "call", code) is not None
    assert end_of_code(key, "open", code) is None
    assert end_of_code(key, "open", code.replace("call", "open")) is None
    assert end_of_code(new_local_key(), "call", code) is None
    for other in ("", "x", "-", code[:-1], f"{code}0", code.replace("-", "", 1), "cronty_call_é-é-é"):
        assert end_of_code(key, "call", other) is None


def test_a_code_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LASTS, "call", 0)
    key = new_local_key()
    assert end_of_code(key, "call", make_code(key, "call")) is None
