"""What the public rooms say they export is there."""

import importlib

import pytest


@pytest.mark.parametrize("room", ["cronty", "cronty.testing", "cronty.timing"])
def test_every_exported_name_exists_once(room: str) -> None:
    module = importlib.import_module(room)
    exported: list[str] = module.__all__
    assert [name for name in exported if not hasattr(module, name)] == []
    assert len(exported) == len(set(exported))


@pytest.mark.parametrize("room", ["cronty.testing", "cronty.timing"])
def test_exports_are_sorted_the_way_ruff_sorts_them(room: str) -> None:
    exported: list[str] = importlib.import_module(room).__all__
    assert list(exported) == sorted(exported, key=constants_then_classes_then_functions)


def constants_then_classes_then_functions(name: str) -> tuple[int, str]:
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1 if name[0].isupper() else 2), name
