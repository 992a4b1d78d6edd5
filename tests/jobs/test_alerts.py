"""Which change of a job deserves an alert, and what it says."""

import orjson
import pytest

from cronty.jobs.alerts import Alert, Change, JobHealth, alert_about

POLICY = '{"alert": "ann-phone", "alert_after": 3}'


def told(before: JobHealth, after: JobHealth, policy: str = POLICY, owners_topic: str = "") -> tuple[str, str] | None:
    alert = alert_about(Change(7, 1, "Ferry", policy, before, after), owners_topic)
    assert alert is None or (alert.owner_id, alert.job_id) == (1, 7)
    return None if alert is None else (alert.title, alert.message)


def active(failures: int, error: str | None = "rain") -> JobHealth:
    return JobHealth("active", failures, error if failures else None)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (active(0), active(1), ("Ferry failed 1 time", "rain")),
        (active(0), active(2), ("Ferry failed 2 times in a row", "rain")),
        (active(1), active(2), None),
        (active(2), active(3), ("Ferry failed 3 times in a row", "rain")),
        (active(2), active(9), ("Ferry failed 9 times in a row", "rain")),
        (active(3), active(4), None),
        (active(0), active(1, None), ("Ferry failed 1 time", "No error was recorded.")),
        (active(1), active(0), ("Ferry works again", "It had failed 1 time.")),
        (active(4), active(0), ("Ferry works again", "It had failed 4 times in a row.")),
        (JobHealth("active", 0, "rain"), active(0), ("Ferry works again", "It had been paused.")),
        (active(0), active(0), None),
        (
            active(4),
            JobHealth("paused", 4, "rain", "too often"),
            ("Ferry was paused", "too often. The last error: rain"),
        ),
        (active(0), JobHealth("paused", 0, None, "its key ended"), ("Ferry was paused", "its key ended")),
        (active(0), JobHealth("paused", 0, None), None),
        (active(0), JobHealth("set_aside", 0, None, "no such zone"), ("Ferry was set aside", "no such zone")),
        (JobHealth("paused", 4, "rain", "too often"), JobHealth("active", 0, "rain"), None),
    ],
)
def test_each_thing_is_said_once(before: JobHealth, after: JobHealth, said: tuple[str, str] | None) -> None:
    assert told(before, after) == said
    assert told(before, after, "{}") is None, "nobody asked"


def test_the_owner_hears_of_what_is_set_aside_even_if_the_job_names_no_topic() -> None:
    aside = JobHealth("set_aside", 0, None, "no such zone")
    assert told(active(0), aside, "{}", "ann-ops") == ("Ferry was set aside", "no such zone")
    assert told(active(0), active(1), "{}", "ann-ops") is None, "a failure is the job's own affair"
    alert = alert_about(Change(7, 1, "Ferry", POLICY, active(0), aside), "ann-ops")
    assert alert is not None
    assert alert.topic == "ann-phone"


@pytest.mark.parametrize(
    "odd", ['{"alert": "ann-phone", "alert_after": "x", "of a later version": 1}', '{"alert": 3}', "[]"]
)
def test_a_policy_that_cannot_be_read_is_no_reason_to_fail(odd: str) -> None:
    assert told(active(0), JobHealth("set_aside", 0, None, "odd"), odd, "ann-ops") == ("Ferry was set aside", "odd")


def test_an_alert_is_bounded() -> None:
    alert = Alert(1, 7, "ann-phone", "F" * 999, "x" * 9999)
    kwargs = orjson.loads(alert.arguments_json())["kwargs"]
    assert (len(alert.name), len(kwargs["title"]), len(kwargs["message"])) == (200, 200, 1000)
