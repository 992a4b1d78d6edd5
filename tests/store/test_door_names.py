"""A job is called by its name wherever its id is taken."""

from dataclasses import replace

import pytest

from cronty.contract.caller import Scope, local_caller
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler import Scheduler
from tests.conftest import add

pytestmark = pytest.mark.usefixtures("hands")
ANN = local_caller("ann")


def number(found: Result[str]) -> int:
    assert isinstance(found, Ok), found
    return int(found.value.split("_")[1])


async def test_a_name_means_its_only_job_whatever_its_case(door: Scheduler) -> None:
    job = await add(door, name="Nightly backup")
    assert number(await door.named(ANN, " nightly BACKUP ")) == job.number


async def test_an_id_or_a_number_is_never_taken_for_a_name(door: Scheduler) -> None:
    await add(door, name="first")
    await add(door, name="1")
    for text in ("1", "#1", "job_1_5", "scd_1"):
        assert await door.named(ANN, text) == Ok(text)


async def test_the_job_that_has_not_ended_is_meant(door: Scheduler) -> None:
    old = await add(door, name="backup")
    await door.cancel(ANN, old.number)
    assert number(await door.named(ANN, "backup")) == old.number
    new = await add(door, name="backup")
    assert number(await door.named(ANN, "backup")) == new.number


async def test_several_jobs_of_a_name_are_a_choice_of_numbers(door: Scheduler) -> None:
    jobs = [await add(door, name="backup") for _ in range(2)]
    await door.pause(ANN, jobs[0].number)
    refused = await door.named(ANN, "backup")
    assert isinstance(refused, Err)
    assert (refused.code, refused.field) == ("ambiguous", "job_id")
    assert refused.message == '2 jobs are called "backup": 1, 2.'
    assert [choice.words for choice in refused.choices] == ["1", "2"]
    assert refused.choices[0].description.endswith(", paused")


async def test_a_part_of_a_name_is_offered_and_never_taken(door: Scheduler) -> None:
    await add(door, name="Nightly backup")
    refused = await door.named(ANN, "backup")
    assert isinstance(refused, Err)
    assert refused.code == "not_found"
    assert refused.hint == "Did you mean 1 (Nightly backup)? Give its number or its whole name."


async def test_other_jobs_are_offered_only_to_those_who_may_read_them(door: Scheduler) -> None:
    await add(door, name="Nightly backup")
    for _ in range(2):
        await add(door, name="twice")
    runner = replace(ANN, scopes=frozenset[Scope](["run"]))
    missing = await door.named(runner, "backup")
    assert isinstance(missing, Err)
    assert "Nightly" not in f"{missing.hint} {missing.choices}"
    several = await door.named(runner, "twice")
    assert isinstance(several, Err)
    assert (several.code, several.choices) == ("ambiguous", ())


async def test_names_are_looked_up_among_the_callers_own_jobs(door: Scheduler) -> None:
    await add(door, name="backup")
    refused = await door.named(local_caller("bob"), "backup")
    assert isinstance(refused, Err)
    assert "Did you mean" not in refused.hint


async def test_a_deleted_job_is_named_to_bring_it_back(door: Scheduler) -> None:
    job = await add(door, name="backup")
    await door.delete(ANN, job.number)
    assert isinstance(await door.named(ANN, "backup"), Err)
    assert number(await door.named(ANN, "backup", deleted=True)) == job.number
