"""A number that is out of its bounds is refused in the same way by every operation, on every surface."""

from dataclasses import fields, replace
from typing import Any

import pytest

from cronty import Cronty
from cronty.contract.operations import ALL
from cronty.contract.result import Err

BOUNDED = {
    "list_jobs": {"limit": (1, 1000)}, "list_deleted_jobs": {"limit": (1, 1000)}, "list_runs": {"limit": (1, 1000)},
    "list_failed_runs": {"limit": (1, 1000)}, "preview_schedule": {"count": (1, 100)},
    "read_inbox": {"wait_seconds": (0, 20), "limit": (1, 100)}, "read_trail": {"limit": (1, 1000)},
    "list_owners": {"limit": (1, 1000)},
}  # fmt: skip


def test_every_number_of_things_to_list_has_its_bounds() -> None:
    known = {
        name: {field: (bound.lowest, bound.highest) for field, bound in one.bounds.items()}
        for name, one in ALL.items()
        if one.bounds
    }
    assert known == BOUNDED
    counts = {
        name
        for name, one in ALL.items()
        if {"limit", "count"} & {field.name for field in fields(one.request)}  # pyright: ignore[reportArgumentType]
    }
    assert counts == BOUNDED.keys()


async def test_one_beyond_them_is_refused_with_its_field_and_what_to_use(url: str) -> None:
    async with Cronty(url, owner="ann", run_jobs=False) as cronty:
        for name, known in BOUNDED.items():
            operation = ALL[name]
            request: Any = operation.request(**operation.example)
            for field, (lowest, highest) in known.items():
                for wrong in (lowest - 1, highest + 1):
                    answer = await cronty.service.answer(operation, cronty.caller, replace(request, **{field: wrong}))
                    code = {"limit": "bad_limit", "count": "bad_count", "wait_seconds": "bad_wait"}[field]
                    hint = f"Use a number from {lowest} to {highest}."
                    assert answer == Err(code, f"Invalid {field}: {wrong}", hint, field)


@pytest.mark.parametrize("limit", [1, 1000])
async def test_the_bounds_themselves_are_fine(url: str, limit: int) -> None:
    async with Cronty(url, owner="ann", run_jobs=False) as cronty:
        assert (await cronty.list_jobs(limit=limit)).jobs == []
