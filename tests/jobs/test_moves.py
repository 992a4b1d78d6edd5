"""Which state may follow which."""

from typing import get_args

import pytest
from asyncpg import Connection

from cronty.jobs.job import JOB_MOVES, JobState
from cronty.jobs.run import EXECUTED, LIVE, MOVES, RunState

RUN_STATES: tuple[RunState, ...] = get_args(RunState)
JOB_STATES: tuple[JobState, ...] = get_args(JobState)


def test_the_tables_are_closed() -> None:
    assert set(MOVES) == set(RUN_STATES)
    assert set(JOB_MOVES) == set(JOB_STATES)
    assert all(after <= set(MOVES) for after in MOVES.values())
    assert all(after <= set(JOB_MOVES) for after in JOB_MOVES.values())


def test_nothing_moves_to_where_it_is() -> None:
    assert not any(state in after for state, after in MOVES.items())
    assert not any(state in after for state, after in JOB_MOVES.items())


@pytest.mark.parametrize("state", sorted(set(RUN_STATES) - LIVE))
def test_a_verdict_is_final(state: RunState) -> None:
    assert MOVES[state] == frozenset()


def test_only_a_live_run_goes_on() -> None:
    assert {state for state, after in MOVES.items() if after} == LIVE


def test_nothing_follows_cancelled() -> None:
    assert JOB_MOVES["cancelled"] == frozenset()
    assert all("cancelled" in after for state, after in JOB_MOVES.items() if state != "cancelled")


def test_a_slot_that_was_never_performed_does_not_count_as_executed() -> None:
    assert set(RUN_STATES) - EXECUTED == {"skipped", "coalesced", "missed"}
    assert LIVE <= EXECUTED


async def test_the_database_knows_the_same_states(sql: Connection) -> None:
    assert await sql.fetchval("select enum_range(null::cronty.run_state)::text[]") == list(RUN_STATES)
