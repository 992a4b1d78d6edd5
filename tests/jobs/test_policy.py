"""How a job behaves around its runs."""

import math
from dataclasses import asdict
from datetime import timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronty.jobs.action import Action
from cronty.jobs.policy import BadPolicy, Policy, changed_policy, default_policy, load_policy, make_policy, spread_delay
from cronty.jobs.retry import pause_before_retry

DECADE = 10 * 366 * 86400.0
seconds = st.floats(0, DECADE, exclude_min=True)
pauses = st.floats(1, DECADE)

policies = st.builds(
    Policy,
    attempts=st.integers(1, 1000),
    backoff=pauses,
    backoff_factor=st.floats(1, 1000),
    backoff_max=pauses,
    jitter=st.floats(0, 1),
    timeout=seconds,
    overlap=st.sampled_from(["skip", "queue", "allow", "cancel_previous"]),
    catch_up=st.sampled_from(["latest", "all", "none"]),
    catch_up_window=seconds,
    catch_up_limit=st.integers(1, 1000),
    spread=st.floats(0, DECADE),
)


@pytest.mark.parametrize("task", ["prompt", "webhook"])
def test_what_reaches_outside_is_tried_three_times(task: str) -> None:
    assert make_policy(default_policy(Action(task))).attempts == 3


def test_a_reminder_is_tried_until_a_laptop_that_woke_up_has_its_network() -> None:
    policy = make_policy(default_policy(Action("notify")))
    tried_for = sum((pause_before_retry(n, policy, 0) for n in range(policy.attempts - 1)), timedelta(0))
    assert timedelta(minutes=30) < tried_for < timedelta(hours=1)


def test_a_task_of_ones_own_runs_once() -> None:
    assert make_policy(default_policy(Action("run_backup"))).attempts == 1


@given(policies)
def test_a_policy_survives_being_stored(policy: Policy) -> None:
    assert load_policy(policy.dump()) == policy


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    assert Policy().dump() == "{}"
    assert Policy(attempts=3).dump() == '{"attempts":3}'


@given(policies)
def test_every_policy_that_can_be_written_down_is_accepted(policy: Policy) -> None:
    given_fields = {key: value for key, value in asdict(policy).items() if key != "unread"}
    assert make_policy(given_fields) == policy


@pytest.mark.parametrize("field", ["tell", "alert"])
def test_messages_go_to_what_may_be_a_topic_or_a_channel(field: str) -> None:
    make_policy({field: "a" * 64})
    for wrong in ("a" * 65, "Ann", "ann--phone"):
        with pytest.raises(BadPolicy, match="1 to 64 lower-case letters"):
            make_policy({field: wrong})


@pytest.mark.parametrize("mode", ["latest", "all", "none"])
def test_every_way_of_catching_up_is_accepted(mode: str) -> None:
    assert make_policy({"catch_up": mode}).catch_up == mode


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow", "cancel_previous"])
def test_every_overlap_is_accepted(overlap: str) -> None:
    policy = make_policy({"overlap": overlap})
    assert policy.overlap == overlap
    assert policy.serial == (overlap != "allow")


NUMBERS = (
    "attempts",
    "backoff",
    "backoff_factor",
    "backoff_max",
    "jitter",
    "timeout",
    "catch_up_window",
    "catch_up_limit",
    "spread",
)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, -0.5, math.inf, True, None, "5", [], {}])
def test_a_bad_number_gets_a_sentence_that_names_the_field(name: str, value: object) -> None:
    with pytest.raises(BadPolicy) as refused:
        make_policy({name: value})
    assert f"Policy field {name!r}" in str(refused.value)
    assert repr(value) in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in ("attempts", "catch_up_limit")])
def test_not_a_number_is_not_a_number(name: str) -> None:
    with pytest.raises(BadPolicy, match=name):
        make_policy({name: math.nan})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("attempts", 0), ("attempts", 1001), ("attempts", 2.0), ("catch_up_limit", 0), ("catch_up_limit", 1.5)),
        *(
            ("backoff", 0),
            ("backoff", 0.999),
            ("backoff_max", 0),
            ("timeout", 0),
            ("catch_up_window", 0),
            ("timeout", DECADE * 2),
        ),
        *(("jitter", 1.01), ("backoff_factor", 0.99), ("backoff_factor", 0)),
        *(("overlap", "sometimes"), ("overlap", None), ("overlap", ["skip"]), ("catch_up", "some"), ("catch_up", 1)),
    ],
)
def test_a_value_out_of_range_gets_a_sentence_with_field_and_value(name: str, value: object) -> None:
    with pytest.raises(BadPolicy) as refused:
        make_policy({name: value})
    assert name in str(refused.value)
    assert repr(value) in str(refused.value)


@pytest.mark.parametrize("name", ["jitter", "backoff_factor"])
def test_a_ratio_is_not_called_a_number_of_seconds(name: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        make_policy({name: -1})
    assert "seconds" not in str(refused.value)


def test_a_bad_way_of_catching_up_is_told_the_good_ones() -> None:
    with pytest.raises(BadPolicy) as refused:
        make_policy({"catch_up": "some"})
    assert "latest, all, none" in str(refused.value)


def test_a_field_that_does_not_exist_is_told_which_do() -> None:
    with pytest.raises(BadPolicy) as refused:
        make_policy({"retries": 3})
    assert str(refused.value).startswith("Unknown policy field: 'retries'. Known are: alert, alert_after, attempts, ")


@given(st.text(max_size=20), st.text(max_size=20), st.floats(0, DECADE))
def test_a_spread_is_the_same_for_the_same_job_and_never_longer_than_asked(
    owner: str, name: str, spread: float
) -> None:
    delay = spread_delay(owner, name, spread)
    assert delay == spread_delay(owner, name, spread)
    assert delay == 0 or 0 <= delay < spread


def test_a_spread_does_spread() -> None:
    assert len({spread_delay("ann", f"job {number}", 60) for number in range(600)}) == 60


def test_what_a_newer_version_wrote_is_ignored_and_kept() -> None:
    stored = '{"attempts":3,"overlap":"politely","quiet":{"from":22}}'
    policy = load_policy(stored)
    assert (policy.attempts, policy.overlap) == (3, "skip")
    assert orjson.loads(policy.dump()) == orjson.loads(stored)


def test_a_value_given_anew_takes_the_place_of_one_that_could_not_be_read() -> None:
    policy = changed_policy(load_policy('{"overlap":"politely","quiet":1}'), {"overlap": "queue", "attempts": 2})
    assert orjson.loads(policy.dump()) == {"overlap": "queue", "attempts": 2, "quiet": 1}


@pytest.mark.parametrize("stored", ["null", "[]", '"x"', "1"])
def test_a_stored_policy_that_is_no_policy_is_the_default_one(stored: str) -> None:
    assert load_policy(stored) == Policy()
