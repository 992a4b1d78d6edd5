"""What follows an attempt."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronty.jobs.outcome import Cancelled, Done, Failed, Interrupted, Outcome, Snoozed
from cronty.jobs.policy import Policy
from cronty.jobs.retry import Settlement, after_attempt, pause_before_retry

THREE = Policy(attempts=3)
luck = st.floats(0, 1)
outcomes = st.sampled_from(
    [
        *(Done(), Done("1"), Failed("no luck"), Failed("never", permanent=True)),
        Failed("busy", wait=timedelta(hours=1)),
        *(Snoozed(timedelta(hours=1)), Cancelled(), Interrupted()),
    ]
)


def test_a_success_ends_the_run_and_keeps_its_result() -> None:
    assert after_attempt(Done('"x"'), 0, THREE, 0.5) == Settlement("done", result='"x"')


def test_a_failure_with_attempts_left_waits_and_keeps_its_error() -> None:
    settled = after_attempt(Failed("no luck"), 1, THREE, 0.5)
    assert (settled.state, settled.error, settled.wait) == ("waiting", "no luck", timedelta(seconds=10))


def test_the_last_failure_ends_the_run() -> None:
    assert after_attempt(Failed("no luck"), 2, THREE, 0.5) == Settlement("failed", error="no luck")


def test_a_single_attempt_is_not_repeated() -> None:
    assert after_attempt(Failed("no luck"), 0, Policy(), 0.5) == Settlement("failed", error="no luck")


def test_a_failure_that_names_a_wait_is_not_tried_again_before_it() -> None:
    minute = timedelta(minutes=1)
    assert after_attempt(Failed("busy", wait=minute), 0, THREE, 0.0).wait == minute
    assert after_attempt(Failed("busy", wait=minute), 0, THREE, 1.0).wait == minute * 1.2
    assert after_attempt(Failed("busy", wait=minute), 2, THREE, 0.5) == Settlement("failed", error="busy")


def test_a_wait_shorter_than_the_pause_changes_nothing() -> None:
    assert after_attempt(Failed("busy", wait=timedelta(seconds=1)), 1, THREE, 0.5).wait == timedelta(seconds=10)


def test_a_permanent_failure_ends_the_run_at_once() -> None:
    assert after_attempt(Failed("gone", permanent=True), 0, THREE, 0.5) == Settlement("failed", error="gone")


@pytest.mark.parametrize("failures", [0, 2, 1000])
def test_a_snooze_is_no_failure_however_often_it_failed_before(failures: int) -> None:
    wait = timedelta(minutes=7)
    assert after_attempt(Snoozed(wait), failures, THREE, 0.5) == Settlement("waiting", wait=wait)


def test_a_cancelled_attempt_ends_the_run_with_its_reason() -> None:
    assert after_attempt(Cancelled("enough"), 0, THREE, 0.5) == Settlement("cancelled", reason="enough")


def test_an_interrupted_attempt_is_made_again_at_once_and_is_no_failure() -> None:
    settled = after_attempt(Interrupted(), 2, THREE, 0.5)
    assert settled == Settlement("waiting", wait=timedelta(0), reason="the worker shut down")


@given(outcomes, st.integers(0, 1000), st.integers(1, 1000), luck)
def test_every_outcome_is_a_legal_move_and_only_waiting_has_a_wait(
    outcome: Outcome, failures: int, attempts: int, luck: float
) -> None:
    settled = after_attempt(outcome, failures, Policy(attempts=attempts), luck)
    assert settled.state in {"done", "failed", "cancelled", "waiting", "quarantined"}
    assert (settled.wait is not None) == (settled.state == "waiting")
    assert settled.wait is None or settled.wait >= timedelta(0)


def test_the_pause_doubles_until_the_cap() -> None:
    policy = Policy(attempts=20, backoff=5, backoff_factor=2, backoff_max=60, jitter=0)
    pauses = [pause_before_retry(failures, policy, 0.9).total_seconds() for failures in range(6)]
    assert pauses == [5, 10, 20, 40, 60, 60]


@given(
    st.integers(0, 100_000),
    st.floats(1, 1e6),
    st.floats(1, 1e8),
    st.floats(1, 1e6),
    st.floats(0, 1),
    luck,
)
def test_jitter_stays_within_its_share_of_the_pause(
    failures: int, backoff: float, factor: float, most: float, jitter: float, luck: float
) -> None:
    policy = Policy(backoff=backoff, backoff_factor=factor, backoff_max=most, jitter=jitter)
    plain = pause_before_retry(failures, policy, 0.5).total_seconds()
    pause = pause_before_retry(failures, policy, luck).total_seconds()
    assert plain <= most + 1e-6
    assert max(1, plain * (1 - jitter)) - 1e-5 <= pause <= plain * (1 + jitter) + 1e-5


@given(st.integers(0, 500), st.floats(1, 10), luck)
def test_pauses_never_shrink_as_failures_grow(failures: int, factor: float, luck: float) -> None:
    policy = Policy(backoff_factor=factor)
    assert pause_before_retry(failures, policy, luck) <= pause_before_retry(failures + 1, policy, luck)


def test_bad_luck_and_good_luck_differ_even_at_the_cap() -> None:
    assert pause_before_retry(1000, Policy(), 0.0) < pause_before_retry(1000, Policy(), 1.0)
