"""Requests and answers are values: they compare by their fields, and their fields don't change."""

from dataclasses import FrozenInstanceError, replace
from inspect import signature

import pytest

from cronty.contract.answers import StartedRun
from cronty.contract.requests import PauseJob, ResumeJob, ShowRun

answer = StartedRun(run_id="run_1", job_id="job_1")


def test_a_field_is_set_once() -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(answer, "run_id", "run_2")  # noqa: B010 -- the type checker refuses an assignment
    with pytest.raises(FrozenInstanceError):
        delattr(answer, "run_id")
    assert answer.run_id == "run_1"
    assert replace(answer, run_id="run_2") == StartedRun(run_id="run_2", job_id="job_1")


def test_it_equals_another_of_its_class_with_the_same_fields() -> None:
    assert answer == StartedRun(job_id="job_1", run_id="run_1")
    assert answer != StartedRun(run_id="run_1", job_id="job_2")
    assert PauseJob("job_1") != ResumeJob("job_1")
    assert len({answer, StartedRun(run_id="run_1", job_id="job_1")}) == 1


def test_it_shows_its_fields() -> None:
    assert repr(answer) == "StartedRun(run_id='run_1', job_id='job_1')"


def test_it_is_made_from_its_fields_alone() -> None:
    assert list(signature(ShowRun).parameters) == ["run_id"]
    with pytest.raises(TypeError):
        ShowRun("run_1", "run_2")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
