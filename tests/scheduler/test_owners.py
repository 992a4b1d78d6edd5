"""Who uses what, who fails and who is held, for the operator of an installation alone."""

from dataclasses import replace
from datetime import timedelta

import pytest
from asyncpg import Connection

from cronty.contract.answers_of_owner import OwnerFigures
from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import ListOwners
from cronty.contract.result import Err, Ok
from cronty.jobs.limits import Limits, reached
from cronty.scheduler import Scheduler
from cronty.scheduler.overview import Overview
from cronty.store.database import Database
from cronty.store.overview_store import OverviewStore
from tests.conftest import HandClock, Hands, add

pytestmark = pytest.mark.usefixtures("hands")
OPERATOR = local_caller("local")
ANN = local_caller("ann")


@pytest.fixture
def overview(database: Database, door: Scheduler) -> Overview:
    return Overview(OverviewStore(database), door, "local")


async def owners(overview: Overview, **asked: object) -> dict[str, OwnerFigures]:
    found = await overview.owners(OPERATOR, ListOwners(**asked))  # pyright: ignore[reportArgumentType]
    assert isinstance(found, Ok), found
    return {one.name: one for one in found.value.owners}


async def test_every_owner_is_shown_with_what_it_runs_fails_and_leaves_overdue(
    door: Scheduler, hands: Hands, clock: HandClock, overview: Overview
) -> None:
    await add(door, "interval", {"minutes": 30}, owner="ann")
    await add(door, "interval", {"hours": 1}, owner="bob")
    for _ in range(8):
        clock.advance(minutes=30)
        await hands.all()
    found = await owners(overview)
    assert [(one.name, one.runs_in_hour, one.runs_in_day) for one in found.values()] == [("ann", 2, 8), ("bob", 1, 4)]
    assert [(one.overdue, one.oldest_overdue) for one in found.values()] == [(0, None), (0, None)]
    late = clock.moment + timedelta(minutes=30)
    clock.advance(minutes=31)
    assert {name: (one.overdue, one.oldest_overdue) for name, one in (await owners(overview)).items()} == {
        "ann": (1, late),
        "bob": (0, None),
    }


async def test_jobs_count_from_the_moment_they_are_made(
    door: Scheduler, overview: Overview, database: Database, clock: HandClock
) -> None:
    for _ in range(3):
        await add(door, owner="ann")
    [before] = (await owners(overview)).values()
    assert before.jobs == 3
    assert before.stored_bytes > 0
    clock.advance(seconds=1)
    await database.of("ann").one("recount", "ann", clock.moment)
    [after] = (await owners(overview)).values()
    assert (after.jobs, after.stored_bytes) == (before.jobs, before.stored_bytes)


async def test_who_fails_is_found(
    door: Scheduler, hands: Hands, clock: HandClock, overview: Overview, sql: Connection
) -> None:
    await add(door, owner="ann")
    await add(door, owner="bob")
    clock.advance(minutes=1)
    await hands.all()
    await sql.execute(
        "update cronty.runs set state = 'failed' where owner_id = (select id from cronty.owners where name = 'bob')"
    )
    assert {name: one.failed for name, one in (await owners(overview)).items()} == {"ann": 0, "bob": 1}
    clock.advance(days=2)
    assert {name: one.failed for name, one in (await owners(overview)).items()} == {"ann": 0, "bob": 0}


async def test_who_is_held_is_shown_with_the_limit(door: Scheduler, overview: Overview, clock: HandClock) -> None:
    await door.allowance.set(ANN, {"runs_per_hour": 2})
    job = await add(door, owner="ann")
    await add(door, owner="bob")
    refused = await door.allowance.for_backfill(ANN, job.action, 3)
    assert isinstance(refused, Err)
    found = await owners(overview)
    assert (found["ann"].held_by, found["bob"].held_by) == (["runs_per_hour"], [])
    assert (found["ann"].limited, found["bob"].limited) == (True, False)
    clock.advance(hours=1)
    assert (await owners(overview))["ann"].held_by == []


def test_a_limit_that_is_used_up_is_named_and_one_that_is_not_there_is_not() -> None:
    limits = Limits(runs_per_hour=10, wakes_per_hour=5, calls_per_minute=0, concurrent_runs=2, jobs=3)
    used = {"runs": 10, "wakes claude": 6, "calls": 999, "refused pushes_per_day": 1}
    assert reached(limits, used, jobs=2, running=1) == ["pushes_per_day", "wakes_per_hour"]
    assert reached(limits, {"runs": 11}, jobs=3, running=2) == ["concurrent_runs", "jobs", "runs_per_hour"]


async def test_owners_come_in_pages_by_name(door: Scheduler, overview: Overview) -> None:
    for name in ("cay", "ann", "bob"):
        await add(door, owner=name)
    first = await overview.owners(OPERATOR, ListOwners(limit=2))
    assert isinstance(first, Ok)
    assert ([one.name for one in first.value.owners], first.value.cursor) == (["ann", "bob"], "bob")
    assert list(await owners(overview, after="bob")) == ["cay"]


@pytest.mark.parametrize("caller", [ANN, Caller("local", frozenset({"read", "run"}))], ids=["ann", "without admin"])
async def test_nobody_but_the_operator_sees_other_owners(overview: Overview, caller: Caller) -> None:
    refused = await overview.owners(replace(caller, surface="rest"), ListOwners())
    assert isinstance(refused, Err)
    assert refused.code == "not_allowed"
