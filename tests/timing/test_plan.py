"""What a plan says about slots that are due."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from cronty.timing import BadTrigger, CatchUp, Cron, Due, Interval, Once, Passed, Plan, SlotChange, plan, with_changes

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOURLY = Cron("0 * * * *")
HOUR = timedelta(hours=1)


def test_nothing_is_due_yet() -> None:
    assert plan(HOURLY, NOON, NOON - timedelta(seconds=1)) == Plan((), (), NOON)


def test_one_slot_on_time_runs() -> None:
    assert plan(HOURLY, NOON, NOON) == Plan((Due(NOON, NOON + HOUR),), (), NOON + HOUR)


def test_a_one_off_runs_and_is_over() -> None:
    assert plan(Once(NOON), NOON, NOON + HOUR) == Plan((Due(NOON, None),), (), None)


def test_a_one_off_is_never_too_late() -> None:
    assert plan(Once(NOON), NOON, NOON + timedelta(days=4000)).runs == (Due(NOON, None),)


def test_a_one_off_that_was_moved_is_never_too_late() -> None:
    moved = with_changes(Once(NOON), [SlotChange(NOON, "asked for", NOON + HOUR)])
    assert plan(moved, NOON, NOON + timedelta(days=30)).runs == (Due(NOON + HOUR, None),)


def test_a_one_off_with_catch_up_off_is_missed_after_a_minute() -> None:
    planned = plan(Once(NOON), NOON, NOON + timedelta(seconds=61), CatchUp("none"))
    assert planned.passed[0].reason == "late, and catch-up is off"


def test_a_one_off_older_than_a_window_of_its_own_is_missed() -> None:
    planned = plan(Once(NOON), NOON, NOON + timedelta(hours=24, seconds=1), CatchUp(window=timedelta(hours=24)))
    assert planned == Plan((), (Passed("missed", "more than 24 h late", NOON, NOON, 1, None),), None)


def test_the_latest_slot_runs_and_the_earlier_ones_are_coalesced() -> None:
    planned = plan(HOURLY, NOON, NOON + 3.5 * HOUR)
    earlier = Passed("coalesced", "a later one ran instead", NOON, NOON + 2 * HOUR, 3, NOON + 3 * HOUR)
    assert planned == Plan((Due(NOON + 3 * HOUR, NOON + 4 * HOUR),), (earlier,), NOON + 4 * HOUR)


def test_all_slots_run_oldest_first() -> None:
    planned = plan(HOURLY, NOON, NOON + 2 * HOUR, CatchUp("all"))
    assert [run.slot for run in planned.runs] == [NOON, NOON + HOUR, NOON + 2 * HOUR]
    assert planned.passed == ()


def test_beyond_the_limit_older_slots_are_coalesced() -> None:
    planned = plan(HOURLY, NOON, NOON + 5 * HOUR, CatchUp("all", limit=2))
    assert [run.slot for run in planned.runs] == [NOON + 4 * HOUR, NOON + 5 * HOUR]
    assert planned.passed == (
        Passed("coalesced", "more than 2 to catch up", NOON, NOON + 3 * HOUR, 4, NOON + 4 * HOUR),
    )


def test_with_catch_up_off_a_minute_of_lateness_is_forgiven_and_no_more() -> None:
    off = CatchUp("none")
    assert plan(HOURLY, NOON, NOON + timedelta(seconds=60), off).runs == (Due(NOON, NOON + HOUR),)
    assert plan(HOURLY, NOON, NOON + timedelta(seconds=61), off) == Plan(
        (), (Passed("missed", "late, and catch-up is off", NOON, NOON, 1, NOON + HOUR),), NOON + HOUR
    )
    both = plan(HOURLY, NOON, NOON + HOUR + timedelta(seconds=5), off)
    assert [run.slot for run in both.runs] == [NOON + HOUR]
    assert [(each.verdict, each.first, each.slots) for each in both.passed] == [("missed", NOON, 1)]


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        (timedelta(hours=24), "more than 24 h late"),
        (timedelta(minutes=90), "more than 1 h 30 min late"),
        (timedelta(seconds=45), "more than 45 s late"),
        (timedelta(0), "more than 0 s late"),
    ],
)
def test_the_reason_names_the_window(window: timedelta, reason: str) -> None:
    planned = plan(HOURLY, NOON, NOON + timedelta(days=3, seconds=50), CatchUp(window=window))
    assert planned.passed[0].reason == reason


def test_a_slot_exactly_as_old_as_the_window_runs() -> None:
    assert plan(Once(NOON), NOON, NOON + HOUR, CatchUp(window=HOUR)).runs == (Due(NOON, None),)
    planned = plan(HOURLY, NOON, NOON + 2 * HOUR, CatchUp("all", window=HOUR))
    assert [run.slot for run in planned.runs] == [NOON + HOUR, NOON + 2 * HOUR]


def test_the_last_allowed_run_ends_the_schedule() -> None:
    assert plan(HOURLY, NOON, NOON, remaining=1) == Plan((Due(NOON, None),), (), None)
    late = plan(HOURLY, NOON, NOON + 3 * HOUR, remaining=1)
    assert (late.runs, late.next_at) == ((Due(NOON + 3 * HOUR, None),), None)
    every = plan(HOURLY, NOON, NOON + 3 * HOUR, CatchUp("all"), remaining=2)
    assert every == Plan((Due(NOON, NOON + HOUR), Due(NOON + HOUR, None)), (), None)


def test_a_missed_slot_uses_up_no_run() -> None:
    planned = plan(HOURLY, NOON, NOON + 0.5 * HOUR, CatchUp(window=timedelta(minutes=1)), remaining=1)
    assert planned.next_at == NOON + HOUR


def test_slots_past_the_end_do_not_exist() -> None:
    assert plan(HOURLY, NOON, NOON, ends_at=NOON) == Plan((Due(NOON, None),), (), None)
    assert plan(HOURLY, NOON, NOON + 5 * HOUR, ends_at=NOON - HOUR) == Plan((), (), None)
    assert plan(HOURLY, NOON, NOON - HOUR, ends_at=NOON - HOUR) == Plan((), (), None)
    late = plan(HOURLY, NOON, NOON + 5 * HOUR, ends_at=NOON + 1.5 * HOUR)
    assert (late.runs, late.next_at) == ((Due(NOON + HOUR, None),), None)


def test_a_stored_slot_that_the_trigger_no_longer_names_is_still_one() -> None:
    odd = NOON + timedelta(minutes=7)
    assert plan(HOURLY, odd, odd).runs == (Due(odd, NOON + HOUR),)
    planned = plan(HOURLY, odd, NOON + HOUR)
    assert planned.passed == (Passed("coalesced", "a later one ran instead", odd, odd, 1, NOON + HOUR),)


def test_ten_thousand_late_runs_do_not_move_an_interval() -> None:
    every = Interval(timedelta(minutes=5), NOON)
    next_at: datetime | None = NOON
    for _ in range(10_000):
        assert next_at is not None
        next_at = plan(every, next_at, next_at + timedelta(milliseconds=50)).next_at
    assert next_at == NOON + 10_000 * timedelta(minutes=5)


@pytest.mark.parametrize("mode", ["latest", "all", "none"])
def test_a_year_asleep_is_planned_at_once(mode: str) -> None:
    catch_up = CatchUp(mode)  # pyright: ignore[reportArgumentType]
    trigger, fastest = Cron("* * * * *", "Europe/Berlin"), 1.0
    for _ in range(5):
        start = time.perf_counter()
        planned = plan(trigger, NOON - timedelta(days=365), NOON, catch_up)
        fastest = min(fastest, time.perf_counter() - start)
        assert len(planned.runs) + sum(each.slots for each in planned.passed) == 365 * 1440 + 1
    assert fastest < 0.05


@pytest.mark.parametrize(
    ("catch_up", "text"),
    [
        ({"mode": "some"}, "Unknown catch-up mode: some"),
        ({"window": timedelta(seconds=-1)}, "Invalid catch-up window"),
        ({"limit": 0}, "Invalid catch-up limit: 0"),
    ],
)
def test_a_bad_catch_up_is_refused(catch_up: dict[str, object], text: str) -> None:
    with pytest.raises(BadTrigger, match=text):
        CatchUp(**catch_up)  # pyright: ignore[reportArgumentType]
