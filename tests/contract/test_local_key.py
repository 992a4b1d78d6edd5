"""Codes that stand for the key of whoever runs a server on their machine."""

import time

import pytest

from cronty.contract.local_key import LASTS, end_of_code, make_code, new_local_key, without_names

HERE = "http://127.0.0.1:8125"


def test_a_code_is_good_for_its_purpose_and_its_key_alone() -> None:
    key = new_local_key()
    code = make_code(key, "call", HERE)
    assert key not in code
    assert end_of_code(key, "call", HERE, code) is not None
    assert end_of_code(key, "open", HERE, code) is None
    assert end_of_code(key, "open", HERE, code.replace("call", "open")) is None
    assert end_of_code(new_local_key(), "call", HERE, code) is None
    for other in ("", "x", "-", code[:-1], f"{code}0", code.replace("-", "", 1), "cronty_call_é-é-é"):
        assert end_of_code(key, "call", HERE, other) is None


def test_a_code_is_good_at_its_address_alone() -> None:
    key = new_local_key()
    for other in ("http://127.0.0.1:8126", "http://127.0.0.2:8125", "http://[::1]:8125", "http://127.0.0.1"):
        assert end_of_code(key, "call", HERE, make_code(key, "call", other)) is None
    assert end_of_code(key, "call", HERE, make_code(key, "call", "http://localhost:8125/mcp")) is not None


def test_a_name_that_leads_to_several_addresses_is_not_called() -> None:
    assert without_names("http://localhost:8125/x") == "http://127.0.0.1:8125/x"
    assert without_names("http://localhost") == "http://127.0.0.1"
    assert without_names("http://[::1]:8125") == "http://[::1]:8125"


def test_a_code_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LASTS, "call", 0)
    key = new_local_key()
    assert end_of_code(key, "call", HERE, make_code(key, "call", HERE)) is None


def test_a_code_from_before_the_server_had_its_address_is_not_good() -> None:
    key = new_local_key()
    code = make_code(key, "call", HERE)
    assert end_of_code(key, "call", HERE, code, time.monotonic_ns()) is None
