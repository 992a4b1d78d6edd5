"""The one status a job has, whatever its state and its runs."""

from itertools import product

import pytest
from asyncpg import Connection

from cronty.jobs.job import STATUSES, JobState, Status, status
from cronty.jobs.run import RUN_STATES

STATES: tuple[JobState, ...] = ("active", "paused", "cancelled", "set_aside")
COMBINATIONS = list(product(STATES, (False, True), (False, True), (False, True)))


@pytest.mark.parametrize(
    ("state", "in_flight", "has_next", "failing", "expected"),
    [
        ("active", False, True, False, "pending"),
        ("active", False, True, True, "pending"),
        ("active", True, True, False, "running"),
        ("active", True, False, True, "running"),
        ("active", False, False, False, "completed"),
        ("active", False, False, True, "failed"),
        ("paused", False, True, False, "pending"),
        ("paused", True, True, False, "running"),
        ("set_aside", False, False, False, "failed"),
        ("set_aside", True, False, False, "running"),
        ("cancelled", False, False, False, "cancelled"),
        ("cancelled", True, True, True, "cancelled"),
    ],
)
def test_status_in_a_table(state: JobState, in_flight: bool, has_next: bool, failing: bool, expected: Status) -> None:
    assert status(state, in_flight=in_flight, has_next=has_next, failing=failing) == expected


def test_every_combination_has_a_status_of_the_seed() -> None:
    seen = {status(state, in_flight=a, has_next=b, failing=c) for state, a, b, c in COMBINATIONS}
    assert seen == set(STATUSES) == {"pending", "running", "completed", "failed", "cancelled"}


async def test_the_database_says_the_same_for_every_combination(sql: Connection) -> None:
    different = [
        combination
        for combination in COMBINATIONS
        if await sql.fetchval("select cronty.job_status($1, $2, $3, $4)", *combination)
        != status(combination[0], in_flight=combination[1], has_next=combination[2], failing=combination[3])
    ]
    assert different == []


async def test_the_database_knows_the_same_states(sql: Connection) -> None:
    assert await sql.fetchval("select enum_range(null::cronty.job_state)::text[]") == list(STATES)
    assert await sql.fetchval("select enum_range(null::cronty.run_state)::text[]") == list(RUN_STATES)
