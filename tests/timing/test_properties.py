"""What holds for every trigger, at every moment."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from cronty.timing import (
    Calendar,
    CalendarRule,
    CatchUp,
    Cron,
    DayOff,
    Due,
    Passed,
    Plan,
    Trigger,
    from_json,
    plan,
    to_json,
)
from tests.timing.calendars import days_off
from tests.timing.strategies import CATCH_UPS, CRONS, MOMENTS, TRIGGERS, thorough

TICK = timedelta(microseconds=1)


def slots_within(trigger: Trigger, since: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    slot = trigger.after(since - TICK)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = trigger.after(slot)
    return found


@thorough
@given(TRIGGERS, MOMENTS)
def test_the_next_slot_is_later_and_nothing_hides_before_it(trigger: Trigger, moment: datetime) -> None:
    slot = trigger.after(moment)
    assume(slot is not None)
    assert slot is not None
    assert slot > moment
    assert trigger.after(slot - TICK) == slot
    assert trigger.count(moment + TICK, slot) == 1
    assert trigger.last(moment + TICK, slot) == slot
    assert trigger.last(moment + TICK, slot - TICK) is None


@thorough
@given(CRONS, MOMENTS)
def test_a_cron_accepted_once_has_a_slot_after_any_moment(cron: Cron, moment: datetime) -> None:
    # One that skips what clocks jump over may name nothing else.
    assert replace(cron, gap="run_after").after(moment) is not None


@thorough
@given(TRIGGERS, MOMENTS, st.timedeltas(timedelta(0), timedelta(hours=6)))
def test_counting_and_looking_back_agree_with_walking(trigger: Trigger, moment: datetime, length: timedelta) -> None:
    since = trigger.after(moment) or moment
    until = since + length
    walked = slots_within(trigger, since, until)
    assert trigger.count(since, until) == len(walked)
    assert trigger.last(since, until) == (walked[-1] if walked else None)


@thorough
@given(CRONS, MOMENTS, st.timedeltas(timedelta(0), timedelta(days=900)), st.floats(0, 1))
def test_counts_add_up(cron: Cron, since: datetime, length: timedelta, share: float) -> None:
    middle, until = since + length * share, since + length
    assert cron.count(since, until) == cron.count(since, middle) + cron.count(middle + TICK, until)


@thorough
@given(TRIGGERS)
def test_a_trigger_survives_json(trigger: Trigger) -> None:
    assert from_json(to_json(trigger)) == trigger


def chain(planned: Plan) -> list[Due | Passed]:
    return sorted([*planned.passed, *planned.runs], key=lambda link: link.slot if isinstance(link, Due) else link.first)


def begin(link: Due | Passed) -> datetime:
    return link.slot if isinstance(link, Due) else link.first


@thorough
@given(TRIGGERS, MOMENTS, st.timedeltas(timedelta(0), timedelta(days=500)), CATCH_UPS)
def test_a_plan_is_a_chain_without_holes_and_loses_no_slot(
    trigger: Trigger, moment: datetime, late: timedelta, catch_up: CatchUp
) -> None:
    next_at = trigger.after(moment)
    assume(next_at is not None)
    assert next_at is not None
    now = next_at + late

    planned = plan(trigger, next_at, now, catch_up)

    links = chain(planned)
    assert begin(links[0]) == next_at
    assert all(one.followed_by == begin(other) for one, other in pairwise(links))
    assert links[-1].followed_by == planned.next_at
    assert planned.next_at is None or planned.next_at > now
    slots = len(planned.runs) + sum(each.slots for each in planned.passed)
    assert slots == trigger.count(next_at, now)
    assert all(each.slots == trigger.count(each.first, each.through) for each in planned.passed)
    days_off = sum(each.verdict == "skipped" for each in planned.passed)
    assert len(planned.passed) <= 2 + 2 * days_off  # each is a range of its own, and may cut another in two
    assert len(planned.runs) <= (catch_up.limit if catch_up.mode == "all" else 1)


def test_a_day_off_cuts_what_was_missed_in_two() -> None:
    rule = CalendarRule(times=(0, 1), unit="day")
    trigger = Calendar((rule,), lists=days_off(DayOff(date(2015, 1, 2), "a day off")))
    first = datetime(2015, 1, 1, 0, 1, tzinfo=UTC)
    planned = plan(trigger, first, first + timedelta(days=2), CatchUp("latest", timedelta(0)))
    assert [(each.verdict, each.slots) for each in planned.passed] == [("missed", 1), ("skipped", 2), ("missed", 1)]
    assert [due.slot for due in planned.runs] == [first + timedelta(days=2)]


@thorough
@given(TRIGGERS, MOMENTS, st.timedeltas(timedelta(0), timedelta(days=500)), CATCH_UPS)
def test_planning_again_at_the_same_moment_adds_nothing(
    trigger: Trigger, moment: datetime, late: timedelta, catch_up: CatchUp
) -> None:
    next_at = trigger.after(moment)
    assume(next_at is not None)
    assert next_at is not None
    planned = plan(trigger, next_at, next_at + late, catch_up)
    if planned.next_at is not None:
        assert plan(trigger, planned.next_at, next_at + late, catch_up) == Plan((), (), planned.next_at)


def plainly_planned(
    slots: list[datetime], now: datetime, catch_up: CatchUp, remaining: int | None
) -> tuple[list[datetime], list[datetime], list[datetime]]:
    """The same decision over a list of all due slots: which run, which are missed, which are coalesced."""
    missed = [slot for slot in slots if now - slot > catch_up.oldest]
    fresh = slots[len(missed) :]
    match catch_up.mode:
        case "latest":
            run = fresh[-1:]
        case "all":
            run = fresh[-catch_up.limit :]
        case "none":
            run = [slot for slot in fresh[-1:] if now - slot <= timedelta(seconds=60)]
    rest = [slot for slot in fresh if slot not in run]
    if catch_up.mode == "none":
        return run[:remaining], missed + rest, []
    return run[:remaining], missed, rest


@thorough
@given(
    TRIGGERS,
    MOMENTS,
    st.timedeltas(timedelta(0), timedelta(hours=3)),
    CATCH_UPS,
    st.none() | st.integers(1, 5),
    st.none() | st.timedeltas(timedelta(hours=-1), timedelta(hours=4)),
)
def test_a_plan_decides_like_a_list_of_all_slots_would(
    trigger: Trigger,
    moment: datetime,
    late: timedelta,
    catch_up: CatchUp,
    remaining: int | None,
    ends_in: timedelta | None,
) -> None:
    next_at = trigger.after(moment)
    assume(next_at is not None)
    assert next_at is not None
    now = next_at + late
    ends_at = None if ends_in is None else next_at + ends_in
    slots = [slot for slot in slots_within(trigger, next_at, now) if ends_at is None or slot <= ends_at]
    assume(len(slots) < 2000)
    # Slots that days off take get their own verdict (test_days_off).
    assume(not isinstance(trigger, Calendar) or all(trigger.taken(slot) is None for slot in slots))
    run, missed, coalesced = plainly_planned(slots, now, catch_up, remaining)

    planned = plan(trigger, next_at, now, catch_up, ends_at=ends_at, remaining=remaining)

    assert [each.slot for each in planned.runs] == run
    for verdict, expected in (("missed", missed), ("coalesced", coalesced)):
        ranges = [each for each in planned.passed if each.verdict == verdict]
        assert sum(each.slots for each in ranges) == len(expected)
        assert all(each.first in expected and each.through in expected for each in ranges)
    ended = remaining is not None and len(run) == remaining
    last = slots[-1] if slots else next_at - TICK
    following = None if ended else trigger.after(last)
    assert planned.next_at == (None if ends_at and following and following > ends_at else following)
    links = chain(planned)
    assert all(one.followed_by == begin(other) for one, other in pairwise(links))
    assert not links or links[-1].followed_by == planned.next_at
