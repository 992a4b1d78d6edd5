"""What is told of a run that has ended."""

import json

import pytest

from cronty.jobs.policy import BadPolicy, Policy, make_policy
from cronty.jobs.telling import Message, message_about, text_of


def about(when: str = "always", state: str = "done", result: object = None, before: str | None = None) -> object:
    policy = make_policy({"tell": "phone", "tell_when": when})
    error = "no luck" if state == "failed" else None
    return message_about(policy, "Pull\nrequests", state, None if result is None else json.dumps(result), error, before)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, ""),
        ("", ""),
        ("  \n", ""),
        ([], ""),
        ({}, ""),
        ({"quiet": True}, ""),
        ({"quiet": True, "report": "nothing new"}, ""),
        ({"report": "Two need you."}, "Two need you."),
        ({"result": "Two need you.", "cost": 3}, "Two need you."),
        ("printed\n", "printed"),
        (0, "0"),
        (False, "false"),
        ({"files": 3}, '{\n  "files": 3\n}'),
    ],
)
def test_the_words_of_a_result(result: object, text: str) -> None:
    assert text_of(None if result is None else json.dumps(result)) == text


def test_always_tells_what_is_empty_too() -> None:
    assert about() == Message("phone", "Pull requests", "Done.")
    assert about(result={"report": "Two need you."}) == Message("phone", "Pull requests", "Two need you.")


def test_not_quiet_tells_neither_what_is_empty_nor_what_is_quiet() -> None:
    assert about("not_quiet") == about("not_quiet", result={"quiet": True}) == "quiet"
    assert isinstance(about("not_quiet", result="news"), Message)


def test_changed_tells_only_what_is_not_what_was_last_told() -> None:
    first = about("changed", result="up")
    assert isinstance(first, Message)
    assert about("changed", result="up", before=first.digest) == "unchanged"
    assert isinstance(about("changed", result="down", before=first.digest), Message)


@pytest.mark.parametrize("when", ["always", "not_quiet", "changed"])
def test_a_failure_is_told_in_each_case(when: str) -> None:
    assert about(when, "failed") == Message("phone", "Pull requests failed", "no luck")


def test_a_long_result_is_cut_at_a_whole_character() -> None:
    told = about(result="é" * 5000)
    assert isinstance(told, Message)
    assert len(told.text.encode()) < 3900
    assert told.text.endswith("é …")


def test_a_job_that_tells_no_more_says_nothing() -> None:
    assert message_about(Policy(), "backup", "done", '"printed"', None, None) == "quiet"


@pytest.mark.parametrize("given", [{"tell": "My Phone"}, {"tell": 3}, {"tell_when": "sometimes"}])
def test_what_cannot_be_a_channel_or_a_time_to_tell_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(BadPolicy):
        make_policy(given)
