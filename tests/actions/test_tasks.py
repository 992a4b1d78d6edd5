"""What a task may be, and what becomes of what it raises."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest
from pydantic import Field

from cronty.actions.hints import WrongArguments
from cronty.actions.tasks import CurrentRun, PermanentError, Registry, RetryAfter, Snooze, current_run, outcome_of_async
from cronty.jobs.outcome import Done, Failed, Outcome, Snoozed

RUN = CurrentRun(1024, 7168, 7, datetime(2027, 3, 1, 8, tzinfo=UTC), 1)


class Greeter:
    """A task may be a method of something that was given its means."""

    def __init__(self, raised: Exception | None = None) -> None:
        self.raised = raised

    async def greet(self, name: Annotated[str, Field(description="Whom to greet.")]) -> str:
        """Say hello."""
        if self.raised:
            raise self.raised
        return f"{name} in {current_run().run_id}"


async def outcome_of(greeter: Greeter) -> Outcome:
    task = Registry().add(greeter.greet, "greet")
    return await outcome_of_async(task, RUN, '{"args": [], "kwargs": {"name": "Ann"}}')


async def test_a_bound_method_is_a_task_that_knows_its_run() -> None:
    assert await outcome_of(Greeter()) == Done(f'"Ann in {RUN.run_id}"')


def test_a_bound_method_describes_its_parameters_without_self() -> None:
    task = Registry().add(Greeter().greet, "greet")
    assert task.is_async
    assert task.doc == "Say hello."
    assert task.parameters == {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Whom to greet."}},
        "additionalProperties": False,
        "required": ["name"],
        "positional": ["name"],
    }


def test_the_same_method_may_be_added_twice_but_not_somebody_elses_under_its_name() -> None:
    registry, greeter = Registry(), Greeter()
    registry.add(greeter.greet, "greet")
    registry.add(greeter.greet, "greet")
    with pytest.raises(ValueError, match="There is a task 'greet' already"):
        registry.add(Greeter().greet, "greet")


@pytest.mark.parametrize(
    ("raised", "outcome"),
    [
        (ValueError("no luck"), Failed("ValueError: no luck")),
        (PermanentError("never"), Failed("never", permanent=True)),
        (Snooze(timedelta(minutes=1)), Snoozed(timedelta(minutes=1))),
        (RetryAfter("busy", timedelta(minutes=1)), Failed("busy", wait=timedelta(minutes=1))),
        (RetryAfter("busy", timedelta(minutes=-1)), Failed("busy")),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_a_task_raises_becomes_an_outcome(raised: Exception, outcome: Outcome) -> None:
    assert await outcome_of(Greeter(raised)) == outcome


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("7.0", "int 7"),
        ("7", "int 7"),
        ("[1, 2.0]", "list [1, 2]"),
        ('"v1.0"', "str v1.0"),
        ("7.5", "float 7.5"),  # stored before the hint was there: as it is, like all that doesn't fit plain hints
    ],
)
async def test_a_whole_number_that_json_has_as_a_float_reaches_an_int_as_one(given: str, found: str) -> None:
    async def show(what: int | list[int] | str) -> str:
        return f"{type(what).__name__} {what}"

    async def count(what: int) -> str:
        return f"{type(what).__name__} {what}"

    function = show if given[0] in '["' else count
    outcome = await outcome_of_async(Registry().add(function), RUN, f'{{"args": [{given}], "kwargs": {{}}}}')
    assert outcome == Done(f'"{found}"')


async def test_a_float_stays_one() -> None:
    async def show(size: float, sizes: list[float], either: int | float) -> str:
        return f"{size} {sizes} {either}"

    arguments = '{"args": [7.0, [1.0]], "kwargs": {"either": 2.0}}'
    assert await outcome_of_async(Registry().add(show), RUN, arguments) == Done('"7.0 [1.0] 2.0"')


def test_arguments_that_do_not_fit_are_named_also_if_they_are_given_by_position() -> None:
    def pay(order: int, copies: list[int]) -> None: ...

    hints = Registry().add(pay).hints
    for args, kwargs in (([1, [1, 7.5]], {}), ([1], {"copies": [1, 7.5]})):
        with pytest.raises(WrongArguments, match=r"^copies\.1: Input should be a valid integer"):
            hints.restored(args, kwargs)
    with pytest.raises(WrongArguments, match=r"^copies: Missing"):
        hints.restored([1], {})
