"""How much is too much, and what is said about it."""

from datetime import UTC, datetime, timedelta

import pytest

from cronty.contract.result import Err
from cronty.jobs.action import Action
from cronty.jobs.limits import (
    DEFAULTS,
    BadLimits,
    Limits,
    day_of,
    excess,
    hour_of,
    over_pushes,
    over_wakes,
    read_limits,
    too_deep,
    too_large,
    too_many,
    too_often,
)
from cronty.timing import Cron, Interval

NOW = datetime(2027, 3, 1, 8, 17, 30, tzinfo=UTC)


def every(seconds: float) -> Interval:
    return Interval(timedelta(seconds=seconds), NOW)


@pytest.mark.parametrize(
    ("action", "seconds", "by_agent", "refused"),
    [
        ("backup", 1, True, False),
        ("backup", 1, False, False),
        ("prompt", 59, True, True),
        ("prompt:claude", 59, True, True),
        ("notify", 1, True, True),
        ("webhook", 30, True, True),
        ("prompt", 60, True, False),
        ("prompt", 1, False, False),
    ],
)
def test_what_an_agent_repeats_rests_a_minute_unless_it_is_a_registered_task(
    action: str, seconds: float, by_agent: bool, refused: bool
) -> None:
    assert (too_often(DEFAULTS, Action(action), every(seconds), by_agent=by_agent) is not None) == refused


def test_a_cron_is_never_too_often() -> None:
    assert too_often(DEFAULTS, Action("prompt"), Cron("* * * * *", "UTC"), by_agent=True) is None


@pytest.mark.parametrize(
    ("refusal", "numbers"),
    [
        (too_often(DEFAULTS, Action("prompt"), every(5), by_agent=True), ("60", "5")),
        (too_many(Limits(jobs=7), 7), ("7",)),
        (too_large(Limits(stored_bytes=1000), 900, 101), ("1000", "900", "101")),
        (too_deep(DEFAULTS, 11), ("11", "10")),
        (over_wakes(DEFAULTS, "claude", 121), ("120", "claude")),
        (over_pushes(DEFAULTS, 501), ("500",)),
    ],
)
def test_a_refusal_says_how_much_is_allowed_and_what_to_do(refusal: Err | None, numbers: tuple[str, ...]) -> None:
    assert refusal is not None
    assert refusal.code == "over_limit"
    assert refusal.hint
    for number in numbers:
        assert number in refusal.message


def test_up_to_the_limit_nothing_is_refused() -> None:
    assert too_many(Limits(jobs=7), 6) is None
    assert too_large(Limits(stored_bytes=1000), 900, 100) is None
    assert too_deep(DEFAULTS, 10) is None
    assert over_wakes(DEFAULTS, "", 120) is None
    assert over_pushes(DEFAULTS, 500) is None


def test_zero_means_no_limit() -> None:
    free = read_limits(DEFAULTS, {name: 0 for name in DEFAULTS.as_json() if name != "alert"})
    assert too_many(free, 10**9) is None
    assert too_large(free, 10**12, 1) is None
    assert too_deep(free, 1000) is None
    assert over_wakes(free, "", 10**9) is None
    assert over_pushes(free, 10**9) is None
    assert too_often(free, Action("prompt"), every(1), by_agent=True) is None


@pytest.mark.parametrize(
    ("asked", "used", "limit", "over"), [(5, 5, 10, 0), (5, 12, 10, 2), (5, 99, 10, 5), (5, 9, 0, 0)]
)
def test_of_what_is_asked_only_the_excess_is_held(asked: int, used: int, limit: int, over: int) -> None:
    assert excess(asked, used, limit) == over


@pytest.mark.parametrize(
    "given", [{"job": 1}, {"jobs": -1}, {"jobs": True}, {"jobs": "many"}, {"jobs": 1.5}, {"alert": 7}, {"depth": None}]
)
def test_limits_that_make_no_sense_are_refused_by_name(given: dict[str, object]) -> None:
    with pytest.raises(BadLimits, match=next(iter(given))):
        read_limits(DEFAULTS, given)


def test_an_hour_and_a_day_begin_on_the_clock() -> None:
    assert hour_of(NOW) == datetime(2027, 3, 1, 8, tzinfo=UTC)
    assert day_of(NOW) == datetime(2027, 3, 1, tzinfo=UTC)
