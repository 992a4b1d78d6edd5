"""Hints are kept one by one: what can't be resolved or converted leaves the others alone."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from cronty import Cronty, CrontyError, CurrentRun, Run, TaskFailed, current
from cronty.testing import by_hand, perform

if TYPE_CHECKING:
    from pathlib import Path


class Strange:
    """Pydantic knows nothing about it."""


async def test_keys_that_are_not_text_come_back_as_what_they_were() -> None:
    cronty = Cronty()

    @cronty.task
    async def count(stock: dict[int, str]) -> dict[int, list[dict[int, str]]]:
        return {1: [stock]}

    assert await perform(count, {7: "seven"}) == {1: [{7: "seven"}]}


async def test_a_hint_that_cannot_be_kept_leaves_the_others_alone() -> None:
    cronty = Cronty()

    @cronty.task
    async def pay(
        order: UUID,
        price: Decimal,
        strange: Strange | None = None,
        folder: Path | None = None,
        run: CurrentRun = current(),  # noqa: B008
    ) -> tuple[UUID, date, str]:
        assert strange is None
        assert folder is None
        return order, date(2027, 1, int(price)), f"{type(price).__name__} {run.attempt}"

    order = uuid4()
    assert await perform(pay, order, Decimal("2")) == (order, date(2027, 1, 2), "Decimal 1")
    with pytest.raises(CrontyError, match="UUID"):
        await perform(pay, "no order", Decimal("2"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_an_object_that_is_called_has_hints_too() -> None:
    class Paying:
        async def __call__(self, order: UUID) -> UUID:
            assert isinstance(order, UUID)
            return order

    task = Cronty().task(name="pay")(Paying())
    order = uuid4()
    assert await perform(task, order) == order


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("form", ["coroutine", "function"])
async def test_a_function_that_takes_other_parameters_by_now_fails_for_good(url: str, form: str, wrapped: bool) -> None:
    before, after = Cronty(), Cronty()
    seen: list[str] = []

    @before.task(name="pay", retries=4)
    def old(order: int, copies: int) -> None: ...

    async def coroutine(order: int) -> None:
        seen.append("begun")

    def function(order: int) -> None:
        seen.append("begun")

    new = after.task(name="pay", retries=4)(coroutine if form == "coroutine" else function)
    if wrapped:

        @after.middleware
        async def nothing(_run: CurrentRun, call_next: Any) -> Any:
            return await call_next()

    async with by_hand(before, url, "2027-03-01"):
        asked = await old.options(delay=60).enqueue(1, 2)
    async with by_hand(after, url, "2027-03-01") as clock:
        await clock.move(hours=1)
        run = Run[None](after, new.registered, asked.job_id, asked.run_id)
        with pytest.raises(TaskFailed, match="its arguments don't fit: too many positional arguments"):
            await run.result()
        assert (await after.show_run(asked.run_id)).attempt == 1
    assert seen == []


async def test_an_error_of_the_functions_own_is_tried_again(url: str) -> None:
    cronty = Cronty()

    @cronty.task(retries=1, policy={"backoff": 1})
    async def pay(order: int) -> None:
        raise TypeError("its own")

    async with by_hand(cronty, url, "2027-03-01") as clock:
        run = await pay.enqueue(1)
        await clock.move(hours=1)
        assert (await cronty.show_run(run.run_id)).attempt == 2
