"""Which slots a backfill runs, and how the row of a range is split around them."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from cronty.jobs.backfill import (
    EARLIER_RULE,
    MOST_LOOKED,
    MOST_RUN,
    NO_ROW,
    KnownRun,
    plan_backfill,
    slots_in,
    split,
)
from cronty.timing import Cron, Interval

START = datetime(2027, 3, 1, tzinfo=UTC)
HOURLY = Interval(timedelta(hours=1), START)


def at(hours: int) -> datetime:
    return START + timedelta(hours=hours)


def row(first: int, through: int, state: str = "missed", ended: datetime | None = None) -> KnownRun:
    slots = through - first + 1
    last = at(through) if slots > 1 else None
    ended = None if state in ("waiting", "running") else ended or at(through)
    return KnownRun(at(first), last, slots, at(through + 1), state, "why", ended)


def test_what_passed_without_a_run_is_run_and_the_rest_is_left_out_by_its_verdict() -> None:
    rows = [row(0, 0, "done"), row(1, 1, "skipped"), row(2, 4), row(5, 5, "failed"), row(6, 6, "waiting")]
    plan = plan_backfill(HOURLY, slots_in(HOURLY, at(0), at(8)), rows, None)
    assert plan.slots == (at(1), at(2), at(3), at(4), at(7), at(8))
    assert plan.before == {"skipped": 1, "missed": 3, NO_ROW: 2}
    assert plan.left_out == {"done": 1, "failed": 1, "waiting": 1}


def test_what_was_run_is_run_again_only_if_it_ended_before_that_was_asked() -> None:
    rows = [row(0, 0, "done", at(9)), row(1, 1, "failed", at(10)), row(2, 2, "done", at(11)), row(3, 3, "running")]
    plan = plan_backfill(HOURLY, slots_in(HOURLY, at(0), at(3)), rows, again_before=at(11))
    assert plan.slots == (at(0), at(1))
    assert plan.left_out == {"done": 1, "running": 1}


def test_a_range_of_another_rule_is_left_as_it_is() -> None:
    daily = Cron("0 0 * * *", "UTC")
    rows = [row(0, 47)]
    plan = plan_backfill(daily, slots_in(daily, at(0), at(47)), rows, None)
    assert (plan.slots, plan.splits) == ((), ())
    assert plan.left_out == {EARLIER_RULE: 2}


def test_a_call_looks_at_so_many_slots_and_runs_so_many_and_says_where_the_rest_begins() -> None:
    found = slots_in(HOURLY, at(0), at(100_000))
    assert len(found) == MOST_LOOKED + 1
    plan = plan_backfill(HOURLY, found, [], None)
    assert (len(plan.slots), plan.next_from) == (MOST_RUN, at(MOST_RUN))
    done = [row(hour, hour, "done") for hour in range(MOST_LOOKED + 1)]
    plan = plan_backfill(HOURLY, found, done, None)
    assert (plan.slots, plan.next_from) == ((), at(MOST_LOOKED))


@given(st.integers(2, 30), st.sets(st.integers(0, 29), min_size=1))
def test_the_parts_of_a_range_are_a_chain_of_all_its_slots(size: int, chosen: set[int]) -> None:
    whole = row(0, size - 1)
    wanted = [at(hour) for hour in sorted(chosen) if hour < size] or [at(size - 1)]
    parts = list(split(HOURLY, whole, wanted))
    assert parts[0].first == whole.scheduled_for
    assert [one.first for one in parts[1:]] == [one.followed_by for one in parts[:-1]]
    assert parts[-1].followed_by == whole.followed_by
    assert sum(one.slots for one in parts) == whole.slots
    assert [one.first for one in parts if one.first in wanted] == wanted
    assert all(one.slots == 1 for one in parts if one.first in wanted)
    assert all((one.through is None) == (one.slots == 1) for one in parts)
