"""Which rows a plan becomes, with or without a previous run in flight."""

from datetime import UTC, datetime, timedelta

import pytest

from cronty.jobs.firing import OVERLAPPED, RunRow, rows_of
from cronty.jobs.policy import OVERLAPS, Overlap
from cronty.timing import Due, Passed, Plan

FIRST = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)


def slot(number: int) -> datetime:
    return FIRST + timedelta(minutes=number)


def planned(*numbers: int, passed: tuple[Passed, ...] = ()) -> Plan:
    """A plan to run these slots of a minutely job."""
    runs = tuple(Due(slot(number), slot(number + 1)) for number in numbers)
    return Plan(runs, passed, runs[-1].followed_by if runs else None)


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_with_nothing_in_flight_a_slot_just_waits(overlap: Overlap) -> None:
    assert rows_of(planned(0), overlap, in_flight=False) == [RunRow(slot(0), "waiting", slot(1))]


def test_skip_skips_while_the_previous_run_is_in_flight() -> None:
    rows = rows_of(planned(0), "skip", in_flight=True)
    assert rows == [RunRow(slot(0), "skipped", slot(1), reason=OVERLAPPED)]


def test_skip_skips_all_of_several_slots() -> None:
    assert [row.state for row in rows_of(planned(0, 1, 2), "skip", in_flight=True)] == ["skipped"] * 3


@pytest.mark.parametrize("overlap", ["queue", "cancel_previous", "allow"])
def test_the_others_wait_whether_or_not_a_run_is_in_flight(overlap: Overlap) -> None:
    assert [row.state for row in rows_of(planned(0, 1), overlap, in_flight=True)] == ["waiting"] * 2


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("in_flight", [False, True])
def test_a_verdict_keeps_its_range_and_its_reason(overlap: Overlap, in_flight: bool) -> None:
    asleep = Passed("coalesced", "a later one ran instead", slot(0), slot(6), 7, slot(7))
    first, *_ = rows_of(planned(7, passed=(asleep,)), overlap, in_flight=in_flight)
    assert first == RunRow(slot(0), "coalesced", slot(7), slot(6), 7, "a later one ran instead")


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("in_flight", [False, True])
def test_rows_are_a_chain_in_time_order(overlap: Overlap, in_flight: bool) -> None:
    missed = Passed("missed", "more than 24 h late", slot(0), slot(1), 2, slot(2))
    rest = Passed("coalesced", "a later one ran instead", slot(2), slot(4), 3, slot(5))
    rows = rows_of(planned(5, 6, passed=(missed, rest)), overlap, in_flight=in_flight)
    assert [row.slot for row in rows] == [slot(0), slot(2), slot(5), slot(6)]
    assert [row.followed_by for row in rows] == [slot(2), slot(5), slot(6), slot(7)]


def test_an_empty_plan_becomes_no_rows() -> None:
    assert rows_of(Plan((), (), slot(1)), "queue", in_flight=True) == []
