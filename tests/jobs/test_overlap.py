"""Which rows a plan becomes, with or without a previous run in flight."""

from datetime import UTC, datetime, timedelta

import pytest

from cronty.jobs.firing import OVERLAPPED, RunRow, rows_of
from cronty.jobs.policy import OVERLAPS, Overlap
from cronty.timing import Due, Passed, Plan

FIRST = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)
BEFORE = FIRST - timedelta(minutes=1)


def slot(number: int) -> datetime:
    return FIRST + timedelta(minutes=number)


def planned(*numbers: int, passed: tuple[Passed, ...] = ()) -> Plan:
    """A plan to run these slots of a minutely job."""
    runs = tuple(Due(slot(number), slot(number + 1)) for number in numbers)
    return Plan(runs, passed, runs[-1].followed_by if runs else None)


def behind(rows: list[RunRow]) -> list[tuple[str, datetime | None]]:
    return [(row.state, row.behind) for row in rows]


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_with_nothing_in_flight_a_slot_just_waits(overlap: Overlap) -> None:
    assert rows_of(planned(0), overlap, None) == [RunRow(slot(0), "waiting", slot(1))]


def test_skip_skips_while_the_previous_run_is_in_flight() -> None:
    rows = rows_of(planned(0), "skip", BEFORE)
    assert rows == [RunRow(slot(0), "skipped", slot(1), reason=OVERLAPPED)]


def test_skip_skips_all_of_several_slots() -> None:
    assert behind(rows_of(planned(0, 1, 2), "skip", BEFORE)) == [("skipped", None)] * 3


@pytest.mark.parametrize("overlap", ["queue", "cancel_previous"])
def test_a_slot_waits_behind_the_run_in_flight(overlap: Overlap) -> None:
    assert behind(rows_of(planned(0), overlap, BEFORE)) == [("waiting", BEFORE)]


def test_allow_waits_behind_nobody() -> None:
    assert behind(rows_of(planned(0, 1), "allow", BEFORE)) == [("waiting", None)] * 2


@pytest.mark.parametrize("overlap", ["skip", "queue", "cancel_previous"])
def test_several_slots_at_once_go_one_behind_the_other(overlap: Overlap) -> None:
    expected = [("waiting", None), ("waiting", slot(0)), ("waiting", slot(1))]
    assert behind(rows_of(planned(0, 1, 2), overlap, None)) == expected


@pytest.mark.parametrize("overlap", ["queue", "cancel_previous"])
def test_only_the_first_of_several_waits_behind_the_run_in_flight(overlap: Overlap) -> None:
    expected = [("waiting", BEFORE), ("waiting", slot(0)), ("waiting", slot(1))]
    assert behind(rows_of(planned(0, 1, 2), overlap, BEFORE)) == expected


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("previous", [None, BEFORE])
def test_a_verdict_keeps_its_range_and_its_reason(overlap: Overlap, previous: datetime | None) -> None:
    asleep = Passed("coalesced", "a later slot ran instead", slot(0), slot(6), 7, slot(7))
    first, *_ = rows_of(planned(7, passed=(asleep,)), overlap, previous)
    assert first == RunRow(slot(0), "coalesced", slot(7), slot(6), 7, "a later slot ran instead")


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("previous", [None, BEFORE])
def test_rows_are_a_chain_in_time_order(overlap: Overlap, previous: datetime | None) -> None:
    missed = Passed("missed", "more than 24 h late", slot(0), slot(1), 2, slot(2))
    rest = Passed("coalesced", "a later slot ran instead", slot(2), slot(4), 3, slot(5))
    rows = rows_of(planned(5, 6, passed=(missed, rest)), overlap, previous)
    assert [row.slot for row in rows] == [slot(0), slot(2), slot(5), slot(6)]
    assert [row.followed_by for row in rows] == [slot(2), slot(5), slot(6), slot(7)]


def test_an_empty_plan_becomes_no_rows() -> None:
    assert rows_of(Plan((), (), slot(1)), "queue", BEFORE) == []
