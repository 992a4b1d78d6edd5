"""Jobs and runs as JSON: the fields of the jobs dialect first."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from cronty.contract.answers import to_json
from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.jobs.moments import upcoming
from cronty.jobs.policy import Policy
from cronty.jobs.run import Run
from cronty.scheduler import JobPage
from cronty.scheduler.answers import job_detail, job_list, run_of, scheduled_job
from cronty.timing import Cron, Interval, Once, Trigger

CREATED = datetime(2026, 2, 5, 14, 0, 0, 250_000, tzinfo=UTC)
NEXT = datetime(2026, 2, 5, 15, 0, tzinfo=UTC)
HOURLY = Interval(timedelta(hours=1), NEXT)
BERLIN = Cron("0 * * * *", "Europe/Berlin")

SCHEDULED = ["job_id", "name", "next_run", "status"]
LISTED = ["job_id", "name", "status", "trigger_type", "next_run", "run_count", "last_run"]
SHOWN = [
    *("job_id", "name", "status", "trigger_type", "created_at"),
    *("last_run", "next_run", "run_count", "max_runs", "error"),
]

JOB = Job(
    id=1024, number=1, owner="ann", name="nightly_backup", action=Action("run_backup"), trigger=HOURLY, zone="UTC",
    policy=Policy(),
    tags=("nightly",), max_runs=24, slots_after=CREATED, ends_at=None, state="active", reason=None, next_slot=NEXT,
    held_slot=None, last_slot=CREATED, last_run=CREATED, run_count=4, manual_count=0, failure_count=1,
    cancelled_count=0, failures_in_row=0, last_error=None, in_flight=0, version=3,
    created_at=CREATED, updated_at=CREATED,
)  # fmt: skip
RUN = Run(
    job_number=1, scheduled_for=CREATED, state="done", attempt=1, slots=1, through=None, manual=False,
    started_at=CREATED, finished_at=CREATED, reason=None, error=None, result='{"files": 3}',
)  # fmt: skip
NEVER_RUN = replace(JOB, last_slot=None, last_run=None, next_slot=None, run_count=0, max_runs=None)


type Json = dict[str, Any]


def scheduled_answer(job: Job) -> Json:
    return to_json(scheduled_job(job))


def summary_answer(job: Job) -> Json:
    return to_json(job_list(JobPage([job], 1, None), "Europe/Berlin"))["jobs"][0]


def status_answer(job: Job, runs: list[Run]) -> Json:
    return to_json(job_detail(job, runs))


def run_answer(run: Run, zone_name: str = "UTC", trigger: Trigger | None = None) -> Json:
    return to_json(run_of(run, zone_name, trigger))


def times_in(answer: dict[str, object]) -> list[datetime]:
    """Every time in an answer."""
    return [
        datetime.fromisoformat(text) for text in re.findall(r'"(\d{4}-\d\d-\d\dT[^"]*)"', orjson.dumps(answer).decode())
    ]


def test_schedule_answers_with_the_fields_of_the_seed_first() -> None:
    answer = scheduled_answer(JOB)
    assert list(answer)[: len(SCHEDULED)] == SCHEDULED
    assert answer["job_id"] == f"job_1_{int(CREATED.timestamp())}"
    assert (answer["name"], answer["next_run"]) == ("nightly_backup", "2026-02-05T15:00:00+00:00")
    assert answer["status"] == "pending"


def test_a_job_in_a_list_has_the_fields_of_the_seed_first() -> None:
    answer = summary_answer(JOB)
    assert list(answer)[: len(LISTED)] == LISTED
    assert (answer["status"], answer["trigger_type"], answer["run_count"]) == ("pending", "interval", 4)


def test_status_has_the_fields_of_the_seed_first() -> None:
    answer = status_answer(JOB, [RUN])
    assert list(answer)[: len(SHOWN)] == SHOWN
    assert (answer["max_runs"], answer["error"], answer["run_count"]) == (24, None, 4)


def test_what_is_not_there_is_null_and_not_left_out() -> None:
    shown, listed = status_answer(NEVER_RUN, []), summary_answer(NEVER_RUN)
    assert [shown[key] for key in ("last_run", "next_run", "max_runs", "error")] == [None] * 4
    assert [listed[key] for key in ("next_run", "last_run")] == [None] * 2
    assert scheduled_answer(NEVER_RUN)["next_run"] is None


@pytest.mark.parametrize("trigger", [HOURLY, BERLIN, Once(NEXT)])
def test_every_time_carries_its_offset(trigger: Trigger) -> None:
    job = replace(JOB, trigger=trigger)
    for answer in (scheduled_answer(job), summary_answer(job), status_answer(job, [RUN])):
        assert times_in(answer)
        assert all(time.utcoffset() is not None for time in times_in(answer))


def test_a_cron_answers_in_its_own_zone_and_says_which() -> None:
    answer = scheduled_answer(replace(JOB, trigger=BERLIN, zone=BERLIN.zone))
    assert (answer["next_run"], answer["timezone"]) == ("2026-02-05T16:00:00+01:00", "Europe/Berlin")
    assert answer["next_runs"] == [
        {"local": f"2026-02-05T{hour}:00:00+01:00", "utc": f"2026-02-05T{hour - 1}:00:00+00:00"}
        for hour in (16, 17, 18)
    ]


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (BERLIN, "Every hour on the hour, Berlin time"),
        (Interval(timedelta(minutes=90), NEXT), "Every 90 minutes"),
        (Once(NEXT), "On Thursday 5 February 2026 at 15:00, UTC"),
    ],
)
def test_a_rule_is_told_in_a_few_words(trigger: Trigger, words: str) -> None:
    assert scheduled_answer(replace(JOB, trigger=trigger))["schedule"] == words


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [0, 1, 2]),
        ({"max_runs": 6}, [0, 1]),
        ({"max_runs": 4}, []),
        ({"max_runs": 4, "manual_count": 1}, [0]),
        ({"ends_at": NEXT + timedelta(hours=1)}, [0, 1]),
        ({"next_slot": None}, []),
        ({"trigger": Once(NEXT)}, [0]),
    ],
)
def test_what_comes_next_stops_where_the_job_does(changes: dict[str, object], expected: list[int]) -> None:
    job = replace(JOB, **changes)  # pyright: ignore[reportArgumentType]
    assert upcoming(job, 3) == [NEXT + timedelta(hours=hours) for hours in expected]


def test_the_error_of_a_job_that_was_set_aside_is_why() -> None:
    job = replace(JOB, state="set_aside", reason="No such zone", last_error="an older one", next_slot=None)
    assert status_answer(job, [])["error"] == "No such zone"
    assert status_answer(job, [])["status"] == "failed"


def test_a_recurring_job_is_pending_after_a_failed_run_with_its_error() -> None:
    answer = status_answer(replace(JOB, failures_in_row=1, last_error="ValueError: no luck"), [])
    assert (answer["status"], answer["error"]) == ("pending", "ValueError: no luck")


def test_a_paused_job_is_pending_and_says_that_it_is_paused() -> None:
    job = replace(JOB, state="paused", held_slot=NEXT, next_slot=None)
    assert (status_answer(job, [])["status"], status_answer(job, [])["paused"]) == ("pending", True)
    assert summary_answer(job)["paused"] is True
    assert summary_answer(JOB)["paused"] is False


def test_a_run_has_its_verdict_and_its_reason() -> None:
    answer = run_answer(replace(RUN, state="skipped", reason="the job was paused", result=None))
    assert (answer["verdict"], answer["reason"], answer["result"]) == ("skipped", "the job was paused", None)
    assert "slots" not in answer
    assert "manual" not in answer


def test_a_run_that_speaks_for_several_slots_says_so() -> None:
    answer = run_answer(replace(RUN, state="coalesced", slots=7, through=NEXT), "Europe/Berlin")
    assert (answer["slots"], answer["through"]) == (7, "2026-02-05T16:00:00+01:00")


def test_a_run_that_was_asked_for_says_so() -> None:
    assert run_answer(replace(RUN, manual=True))["manual"] is True


def test_a_result_is_json_again() -> None:
    assert run_answer(RUN)["result"] == {"files": 3}


def test_a_run_has_one_id_for_all_its_attempts() -> None:
    assert replace(RUN, attempt=2).run_id == RUN.run_id == f"run_1_{int(CREATED.timestamp())}250000"


def test_successes_are_what_is_left_of_the_executions() -> None:
    job = replace(JOB, run_count=10, failure_count=2, cancelled_count=1, in_flight=1)
    assert status_answer(job, [])["success_count"] == 6
    assert job.remaining == 14


def test_a_slot_that_a_clock_change_has_moved_says_from_where() -> None:
    """Clocks in Berlin go forward on 28 March 2027, from 02:00 to 03:00."""
    moved = replace(RUN, scheduled_for=datetime(2027, 3, 28, 1, tzinfo=UTC))
    cron = Cron("30 2 * * *", "Europe/Berlin")
    assert run_answer(moved, "Europe/Berlin", cron)["moved_from"] == "02:30"
    assert "moved_from" not in run_answer(RUN, "Europe/Berlin", cron)
