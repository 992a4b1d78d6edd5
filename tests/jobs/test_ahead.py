"""Slots that ntfy has sent ahead of us are planned as runs, and the others around them as ever."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from cronty.jobs.ahead import plan_around
from cronty.timing import CatchUp, Due, Interval, Passed, plan

FIRST = datetime(2027, 3, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)
DAILY = Interval(DAY, FIRST)
DAYS = [FIRST + number * DAY for number in range(10)]
NOW = DAYS[4] + timedelta(hours=1)


def test_all_that_rang_runs_and_nothing_is_missed() -> None:
    planned = plan_around(set(DAYS[:5]), DAILY, FIRST, NOW, CatchUp("none"))
    assert planned.runs == tuple(Due(DAYS[number], DAYS[number + 1]) for number in range(5))
    assert (planned.passed, planned.next_at) == ((), DAYS[5])


def test_what_did_not_ring_in_between_is_planned_as_if_alone() -> None:
    planned = plan_around({DAYS[1]}, DAILY, FIRST, NOW, CatchUp())
    late = "more than 24 h late"
    assert planned.passed == (
        Passed("missed", late, DAYS[0], DAYS[0], 1, DAYS[1]),
        Passed("missed", late, DAYS[2], DAYS[3], 2, DAYS[4]),
    )
    assert planned.runs == (Due(DAYS[1], DAYS[2]), Due(DAYS[4], DAYS[5]))


def test_the_end_of_a_job_holds_for_what_rang_too() -> None:
    ended = plan_around(set(DAYS[:2]), DAILY, FIRST, NOW, CatchUp(), ends_at=DAYS[1])
    assert (ended.runs, ended.next_at) == ((Due(DAYS[0], DAYS[1]), Due(DAYS[1], None)), None)
    counted = plan_around(set(DAYS[:2]), DAILY, FIRST, NOW, CatchUp(), remaining=2)
    assert (counted.runs, counted.next_at) == ((Due(DAYS[0], DAYS[1]), Due(DAYS[1], None)), None)


@settings(max_examples=300, deadline=None)
@given(
    rang=st.sets(st.sampled_from(DAYS)),
    hours=st.integers(0, 200),
    catch_up=st.builds(CatchUp, st.sampled_from(["latest", "all", "none"]), st.sampled_from([None, DAY, 9 * DAY])),
    ends=st.sampled_from([None, DAYS[3], DAYS[6]]),
)
def test_every_slot_is_accounted_for_in_one_chain(
    rang: set[datetime], hours: int, catch_up: CatchUp, ends: datetime | None
) -> None:
    now = FIRST + timedelta(hours=hours)
    rang = {slot for slot in rang if ends is None or slot <= ends}
    planned = plan_around(rang, DAILY, FIRST, now, catch_up, ends_at=ends)
    assert {slot for slot in rang if slot <= now} <= {run.slot for run in planned.runs}
    links = {run.slot: run.followed_by for run in planned.runs}
    links |= {past.first: past.followed_by for past in planned.passed}
    slot: datetime | None = FIRST
    seen = 0
    while slot is not None and slot in links:
        seen, slot = seen + 1, links[slot]
    assert (seen, slot) == (len(links), planned.next_at)
    due = [slot for slot in DAYS if slot <= now and (ends is None or slot <= ends)]
    assert len(planned.runs) + sum(past.slots for past in planned.passed) == len(due)
    if not rang:
        assert planned == plan(DAILY, FIRST, now, catch_up, ends_at=ends)
