"""The ends of every range: understood or refused in words, and never a fault."""

from typing import Any

import orjson
import pytest
from mcp.shared.exceptions import MCPError

from tests.mcp.caller import Caller

# What happens to a value doesn't depend on the era it came in.
pytestmark = pytest.mark.parametrize("caller", ["2026-07-28"], indirect=True)

DEEP: Any = orjson.loads("[" * 40 + "]" * 40)


@pytest.mark.parametrize("span", [{"to": "9999-12-31"}, {"from": "0001-01-01"}, {"to": "9999-12-31T23:59:59-12:00"},
                                  {"from": "0001-01-01T00:00:00+14:00"}, {"from": " 2027-03-01 "}])  # fmt: skip
@pytest.mark.parametrize("tool", ["list_jobs", "schedule_list"])
async def test_a_range_may_be_as_wide_as_the_calendar(caller: Caller, tool: str, span: dict[str, str]) -> None:
    await caller.ask("schedule", at="in 1h", prompt="look")
    answer = await caller.ask(tool, **span)
    assert answer.get("total", answer.get("count")) == 1


async def test_a_range_beyond_the_calendar_is_empty(caller: Caller) -> None:
    await caller.ask("schedule", at="in 1h", prompt="look")
    assert (await caller.ask("schedule_list", **{"from": "9999-12-31T23:59:59-12:00"}))["count"] == 0
    assert (await caller.ask("schedule_list", to="0001-01-01T00:00:00+14:00"))["count"] == 0


@pytest.mark.parametrize("day", ["2027-03-02", "20270302", "2027-W09-2"])
async def test_a_date_alone_means_the_whole_day_however_it_is_written(caller: Caller, day: str) -> None:
    await caller.ask("schedule", at="2027-03-02T23:30:00Z", prompt="look")
    assert (await caller.ask("schedule_list", **{"from": day, "to": day}))["count"] == 1


JOB: dict[str, Any] = {"name": "n", "task": "run_backup"}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "schedule_notification",
            {"message": "m", "notification_topic": "t", "delay": "99999999999999999999d"},
            'Invalid delay: "99999999999999999999d" is longer than 100 years. Use a shorter one, as in 1d2h30m5s.',
        ),
        (
            "schedule_notification",
            {"message": "m", "notification_topic": "t", "delay": "0d0s"},
            'Invalid delay: "0d0s" is zero. To send it now use send_push_notification.',
        ),
        (
            "schedule_notification",
            {"message": "m", "notification_topic": "t", "datetime": "9999-12-31T23:59:59-12:00"},
            "Time out of range: 9999-12-31T23:59:59-12:00. Name a time from the year 2 to 9998.",
        ),
        (
            "schedule_notification",
            {"message": "m", "notification_topic": "t", "datetime": "when I get up"},
            'Invalid datetime: "when I get up". Give exactly one of: datetime ("2027-01-31T09:00:00+01:00"), time with '
            'timezone ("09:00", "Europe/Berlin"), or delay ("2h30m").',
        ),
        (
            "schedule_notification",
            {"message": "m", "notification_topic": "t", "delay": "1h", "date": "2027-03-02"},
            'date "2027-03-02" goes only with time, as in "date": "2027-01-31", "time": "09:00"; leave it out.',
        ),
        (
            "schedule_notification",
            {"message": "m", "notification_topic": "t", "time": "25:00", "timezone": "UTC"},
            'Invalid date or time: "2027-03-01 25:00". Use YYYY-MM-DD and HH:MM, as in 2027-01-31 09:00.',
        ),
        (
            "schedule_notification",
            {"message": "m", "notification_topic": "t", "datetime": "2027-03-02"},
            'datetime "2027-03-02" has no offset, so it is a different time in every time zone. Give '
            '"date": "2027-03-02", "time": "09:00" and the user\'s "timezone" instead, or add the offset, as in '
            '"2027-03-02T09:00:00+01:00" for a winter\'s day in Berlin.',
        ),
        (
            "schedule_cron_notification",
            {"message": "m", "notification_topic": "t", "cron": "@daily", "timezone": "UTC", "label": "x" * 201},
            f"Invalid label: '{'x' * 80}'. Use 1 to 200 characters.",
        ),
        (
            "schedule",
            {"at": "9999-12-31T23:59:59-12:00", "prompt": "x"},
            "Error: Time out of range: 9999-12-31T23:59:59-12:00. Name a time from the year 2 to 9998.",
        ),
        (
            "schedule_cancel",
            {"id": -(2**53)},
            "Task #-9007199254740992 not found or not editable (only pending tasks can be cancelled).",
        ),
        (
            "schedule_job",
            {**JOB, "hours": 1, "max_runs": 2**53},
            '{"error":"Invalid max_runs: 9007199254740992","hint":"It must be a positive number, or left out."}',
        ),
        (
            "schedule_job",
            {**JOB, "hours": 1, "args": DEEP},
            '{"error":"The arguments are nested deeper than 32 levels.","hint":"Flatten them."}',
        ),
        (
            "schedule_job",
            {**JOB, "days": 999_999_999},
            '{"error":"Invalid interval: 8.64e+13 seconds","hint":"It must be from 1 second to 10 years; for example, '
            '900 is every 15 minutes."}',
        ),
        (
            "schedule_job",
            {"name": "n", "task": "notify", "hours": 1, "kwargs": {"message": "m", "topic": "Bad Topic"}},
            '{"error":"topic must be 1 to 64 lower-case letters and digits with single dashes between them, such as '
            "'ann-alerts', not 'Bad Topic'.\"}",
        ),
        (
            "schedule_job",
            {"name": "n", "task": "notify", "hours": 1, "kwargs": {"message": "m"}},
            None,
        ),
        ("acknowledge_inbox", {"receipts": ["run_9223372036854775807_99999999999999999#999999999"]}, None),
        ("job_status", {"job_id": "9" * 19}, None),
        ("list_jobs", {"cursor": "W2ZhbHNlLCI5OTk5LTEyLTMxVDIzOjU5OjU5LTEyOjAwIiwzXQ"}, None),
        ("preview_schedule", {"schedule": "x" * 100_000}, None),
        ("get_current_time", {"timezone": "../../etc/passwd"}, None),
    ],
)
async def test_what_is_too_much_is_refused_in_words(
    caller: Caller, tool: str, arguments: dict[str, Any], said: str | None
) -> None:
    text = await caller.said(tool, **arguments)
    assert "fault" not in text
    assert len(text) < 1500
    if said is not None:
        assert text == said


async def test_an_edit_cannot_make_a_notification_that_would_never_be_delivered(caller: Caller) -> None:
    made = await caller.ask(
        "schedule_cron_notification", message="m", notification_topic="t", cron="0 9 * * *", timezone="UTC"
    )
    changed = await caller.ask("edit_job", job_id=made["schedule_id"], kwargs={"message": "m", "topic": "Bad Topic"})
    assert changed["error"].startswith("topic must be 1 to 64 lower-case letters")


async def test_a_name_beyond_all_names_is_not_repeated_whole(caller: Caller) -> None:
    long = "x" * 100_000
    for tool, field in (("job_status", "job_id"), ("list_runs", "job_id"), ("pause_schedule", "schedule_id")):
        found = await caller.ask(tool, **{field: long})
        assert "not found" in found["error"]
        assert len(orjson.dumps(found)) < 1000, tool


async def test_a_prompt_that_is_not_there_is_the_callers_mistake_and_no_fault(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(MCPError, match="Unknown prompt: nothing"):
        await caller.client.get_prompt("nothing")
    with pytest.raises(MCPError, match="job"):
        await caller.client.get_prompt("why_did_it_not_run")
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
