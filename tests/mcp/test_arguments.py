"""What models really send, held against the tools' own schemas: the understood value, or the exact sentence."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp.types import Tool

from cronty.contract.caller import local_caller
from cronty.mcp.arguments import BadArguments, fit
from cronty.mcp.context import ToolContext
from cronty.mcp.server import grouped_tools
from cronty.mcp.when import tidy

TOOLS: dict[str, Tool] = {
    tool.name: tool for _, tool in grouped_tools(ToolContext(cast("Any", None), lambda: local_caller("nobody")))
}


def fitted(tool: str, arguments: dict[str, object]) -> dict[str, object]:
    return fit(TOOLS[tool].input_schema, arguments)


@pytest.mark.parametrize(
    ("tool", "sent", "understood"),
    [
        ("schedule_edit", {"id": "12", "prompt": "x"}, {"id": 12, "prompt": "x"}),
        ("schedule_edit", {"id": 12.0, "prompt": "x"}, {"id": 12, "prompt": "x"}),
        ("schedule_edit", {"id": "12.0", "prompt": 5}, {"id": 12, "prompt": "5"}),
        ("schedule_edit", {"id": 1, "at": None, "prompt": "x"}, {"id": 1, "prompt": "x"}),
        ("list_jobs", {"status": None, "limit": None, "cursor": None}, {}),
        ("list_jobs", {"limit": " 5 "}, {"limit": 5}),
        ("job_status", {"job_id": 7}, {"job_id": "7"}),
        ("read_inbox", {"wait_seconds": "2.5"}, {"wait_seconds": 2.5}),
        ("read_inbox", {"wait_seconds": 3}, {"wait_seconds": 3}),
        ("acknowledge_inbox", {"receipts": '["a", "b"]'}, {"receipts": ["a", "b"]}),
        ("acknowledge_inbox", {"receipts": "a, b"}, {"receipts": ["a", "b"]}),
        ("acknowledge_inbox", {"receipts": "a"}, {"receipts": ["a"]}),
        ("acknowledge_inbox", {"receipts": ["a"], "outcome": "Done"}, {"receipts": ["a"], "outcome": "done"}),
        ("acknowledge_inbox", {"receipts": ["a"], "outcome": " SNOOZE "}, {"receipts": ["a"], "outcome": "snooze"}),
        ("list_tasks", {}, {}),
    ],
)
def test_a_certain_meaning_is_accepted(tool: str, sent: dict[str, object], understood: dict[str, object]) -> None:
    assert fitted(tool, sent) == understood


PUSH = {"message": "m", "notification_topic": "t"}


@pytest.mark.parametrize(
    ("name", "sent", "understood"),
    [
        ("markdown", "true", True),
        ("markdown", "False", False),
        ("markdown", 1, True),
        ("markdown", "no", False),
        ("priority", "4", 4),
        ("priority", 4.0, 4),
        ("tags", '["warning"]', ["warning"]),
        ("tags", "warning,tada", ["warning", "tada"]),
        ("tags", ["warning", 1], ["warning", "1"]),
        ("tags", "2027", ["2027"]),
        ("actions", '[{"action": "view"}]', [{"action": "view"}]),
        ("actions", ['{"action": "view"}'], [{"action": "view"}]),
        ("actions", {"action": "view"}, [{"action": "view"}]),
        ("title", 42, "42"),
    ],
)
def test_every_kind_of_parameter_may_come_as_text(name: str, sent: object, understood: object) -> None:
    assert fitted("send_push_notification", {**PUSH, name: sent}) == {**PUSH, name: understood}


@pytest.mark.parametrize(
    ("tool", "sent", "sentence"),
    [
        (
            "schedule_edit",
            {"id": "twelve"},
            'id must be a whole number, not "twelve". It is: The task\'s number, as schedule or schedule_list gave it.',
        ),
        (
            "schedule_edit",
            {"id": True},
            "id must be a whole number, not true. It is: The task's number, as schedule or schedule_list gave it.",
        ),
        (
            "schedule_edit",
            {"id": 1.5},
            "id must be a whole number, not 1.5. It is: The task's number, as schedule or schedule_list gave it.",
        ),
        (
            "job_status",
            {"job_id": ["job_1_1"]},
            'job_id must be a string, not ["job_1_1"]. It is: The job\'s id, or its name.',
        ),
        ("job_status", {}, "job_id is required: The job's id, or its name."),
        ("cancel_job", {"id": "job_1_1"}, "Unknown parameter: id. Did you mean job_id? Known parameters: job_id."),
        (
            "schedule_notification",
            {"topic": "t"},
            "Unknown parameter: topic. Did you mean notification_topic? Known parameters: message, notification_topic, "
            "datetime, time, date, timezone, delay.",
        ),
        (
            "preview_schedule",
            {"cron": "0 9 * * *"},
            "Unknown parameter: cron. Known parameters: schedule, timezone, count.",
        ),
        (
            "list_jobs",
            {"maxResults": 5},
            "Unknown parameter: maxResults. Known parameters: status, limit, cursor, name, tag, task, topic, from, to.",
        ),
        (
            "list_jobs",
            {"from_": "2027-01-31"},
            "Unknown parameter: from_. Did you mean from? Known parameters: status, limit, cursor, name, tag, task, "
            "topic, from, to.",
        ),
        ("list_tasks", {"x": 1}, "Unknown parameter: x. Known parameters: none."),
        (
            "schedule_cron_notification",
            {"message": "m", "notification_topic": "t", "cron": "0 9 * * *"},
            "timezone is required: IANA time zone the cron is meant in, e.g. Europe/Berlin.",
        ),
        (
            "acknowledge_inbox",
            {"receipts": ["a"], "outcome": "ok"},
            'outcome is "ok"; use one of: done, quiet, failed, snooze.',
        ),
        (
            "acknowledge_inbox",
            {"receipts": [{"receipt": "a"}]},
            'receipts must be a list of strings, not [{"receipt":"a"}]. It is: The receipts that read_inbox gave, '
            "up to 1000.",
        ),
        (
            "schedule_job",
            {"name": "n", "task": "t", "trigger_type": "daily", "trigger_config": {}},
            'trigger_type is "daily"; use one of: once, interval, cron, calendar, words.',
        ),
        (
            "schedule_job",
            {"name": "n", "task": "t", "trigger_type": "cron", "trigger_config": {}, "max_runs": "many"},
            'max_runs must be a whole number, not "many". It is: Stop after this many runs.',
        ),
        (
            "schedule_job",
            {"name": "n", "task": "t", "trigger_type": "cron", "trigger_config": {}, "kwargs": "compress=true"},
            'kwargs must be an object, not "compress=true". It is: Keyword arguments of the task, e.g. {"message": '
            '"Stand-up", "topic": "ann-phone"}.',
        ),
        (
            "send_push_notification",
            {**PUSH, "actions": ["view"]},
            'actions must be a list of objects, not ["view"]. It is: Up to three buttons, as ntfy describes them.',
        ),
        (
            "send_push_notification",
            {**PUSH, "markdown": "perhaps"},
            'markdown must be true or false, not "perhaps". It is: Whether the message is Markdown.',
        ),
    ],
)
def test_what_is_not_certain_gets_a_sentence_to_mend_it_by(tool: str, sent: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadArguments) as refused:
        fitted(tool, sent)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("tool", "name", "sent"),
    [
        ("read_inbox", "agent", "a\0"),
        ("list_scheduled_notifications", "notification_topic", "\0"),
        ("acknowledge_inbox", "receipts", ["a", "\ud800"]),
        ("send_push_notification", "tags", "a\0,b"),
    ],
)
def test_a_character_that_cannot_be_kept_is_named_before_it_is_a_fault(tool: str, name: str, sent: object) -> None:
    with pytest.raises(BadArguments) as refused:
        fitted(tool, {name: sent})
    assert str(refused.value) == (
        f"{name} has a NUL character or half a surrogate pair, which can't be stored. Leave it out."
    )


def test_a_list_nested_without_end_is_no_fault() -> None:
    job: dict[str, object] = {"name": "n", "task": "t", "trigger_type": "cron", "trigger_config": {}}
    assert fitted("schedule_job", {**job, "args": "[" * 900 + "]" * 900})


def test_a_long_value_is_shown_shortened() -> None:
    with pytest.raises(BadArguments) as refused:
        fitted("schedule_edit", {"id": "x" * 5000})
    assert len(str(refused.value)) < 250
    with pytest.raises(BadArguments) as refused:
        fitted("schedule_edit", {"x" * 5000: 1})
    assert len(str(refused.value)) < 250


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.sampled_from(
    ["once", "interval", "cron", "words", "1h", "PT1H", "0 9 * * *", '{"hours": 1}', "[1]", "true", "1e400", "-1", "\0"]
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool, and anything at all for the parameters it has and for some it doesn't have."""
    name = draw(st.sampled_from(sorted(TOOLS)))
    known = st.sampled_from([*TOOLS[name].input_schema["properties"], "hours", "every", "trigger_config", "run_at"])
    return name, draw(st.dictionaries(known | st.text(max_size=5), JSON | WORDS, max_size=8))


@given(calls())
def test_whatever_is_sent_is_understood_or_refused_in_a_sentence(call: tuple[str, dict[str, Any]]) -> None:
    name, arguments = call
    try:
        understood = fitted(
            name, tidy(arguments) if "trigger_config" in TOOLS[name].input_schema["properties"] else arguments
        )
    except BadArguments:
        return
    # What we let through, a schema that clients see allows.
    cast("Any", Draft202012Validator)(TOOLS[name].input_schema).validate(understood)
