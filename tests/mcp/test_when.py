"""The ways models say when, and what becomes of each: a type and its configuration, a job, or a sentence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronty.mcp.arguments import BadArguments
from cronty.mcp.when import tidy
from tests.mcp.caller import Caller
from tests.mcp.test_arguments import JSON, WORDS

HOURLY = ("interval", {"hours": 1})
AT_NINE = ("cron", {"expression": "0 9 * * *"})


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        ({"trigger_type": "interval", "trigger_config": {"hours": 1}}, HOURLY),
        ({"trigger_type": "INTERVAL", "trigger_config": {"hours": "1"}}, HOURLY),
        ({"trigger_type": " interval ", "trigger_config": '{"hours": 1}'}, HOURLY),
        ({"trigger_type": "interval", "trigger_config": {"interval": {"hours": 1}}}, HOURLY),
        ({"trigger_type": "interval", "trigger_config": {"type": "interval", "hours": 1}}, HOURLY),
        ({"trigger_type": "interval", "trigger_config": {"hours": 1, "minutes": None}}, HOURLY),
        ({"trigger_type": "interval", "trigger_config": {"hour": 1}}, HOURLY),
        ({"trigger_type": "interval", "trigger_config": {"weeks": 2}}, ("interval", {"days": 14})),
        ({"trigger_type": "interval", "hours": 1}, HOURLY),
        ({"trigger_type": None, "trigger_config": None, "hours": 1}, HOURLY),
        ({"trigger_config": {"hours": 1}}, HOURLY),
        ({"hours": "1.5"}, ("interval", {"hours": 1.5})),
        ({"trigger_type": "interval", "trigger_config": "PT1H"}, ("words", {"text": "every PT1H"})),
        ({"trigger_type": "interval", "trigger_config": "every 2 hours"}, ("words", {"text": "every 2 hours"})),
        ({"trigger_type": "interval", "trigger_config": {"every": "2h"}}, ("words", {"text": "every 2h"})),
        ({"trigger_type": "interval", "trigger_config": {"interval": "2h"}}, ("words", {"text": "every 2h"})),
        ({"every": "day at 9:00"}, ("words", {"text": "every day at 9:00"})),
        ({"trigger_type": "cron", "trigger_config": "0 9 * * *"}, AT_NINE),
        ({"trigger_type": "cron", "trigger_config": '"0 9 * * *"'}, AT_NINE),
        ({"trigger_type": "cron", "trigger_config": {"cron": "0 9 * * *"}}, AT_NINE),
        ({"trigger_type": "cron", "trigger_config": {"cron_expression": "0 9 * * *"}}, AT_NINE),
        ({"cron": "0 9 * * *"}, AT_NINE),
        ({"expression": "0 9 * * *"}, AT_NINE),
        (
            {"trigger_type": "once", "trigger_config": "2031-01-31T09:00:00Z"},
            ("once", {"run_at": "2031-01-31T09:00:00Z"}),
        ),
        ({"trigger_type": "once", "trigger_config": {"at": "tomorrow at 9"}}, ("once", {"run_at": "tomorrow at 9"})),
        ({"trigger_type": "once", "trigger_config": {"datetime": "2031-01-31"}}, ("once", {"run_at": "2031-01-31"})),
        ({"run_at": "2031-01-31"}, ("once", {"run_at": "2031-01-31"})),
        ({"trigger_type": "words", "trigger_config": "every day at 9"}, ("words", {"text": "every day at 9"})),
        ({"trigger_config": "every day at 9"}, ("words", {"text": "every day at 9"})),
    ],
)
def test_flat_or_nested_as_object_or_as_text(sent: dict[str, Any], understood: tuple[str, dict[str, object]]) -> None:
    tidied = tidy({"name": "n", **sent})
    assert (tidied["trigger_type"], tidied["trigger_config"]) == understood
    assert tidied.keys() == {"name", "trigger_type", "trigger_config"}


def test_what_says_nothing_about_when_is_left_alone() -> None:
    assert tidy({"job_id": "1", "name": "n"}) == {"job_id": "1", "name": "n"}


@pytest.mark.parametrize("outside", [{}, {"timezone": None}])
def test_a_zone_inside_the_configuration_is_moved_out_of_it(outside: dict[str, object]) -> None:
    sent = {"trigger_type": "cron", "trigger_config": {"expression": "0 9 * * *", "timezone": "Asia/Tokyo"}, **outside}
    assert tidy(sent) == {
        "trigger_type": "cron",
        "trigger_config": {"expression": "0 9 * * *"},
        "timezone": "Asia/Tokyo",
    }


def test_a_zone_beside_the_configuration_counts_more_than_one_inside() -> None:
    sent = {"trigger_config": {"cron": "0 9 * * *", "tz": "Asia/Tokyo"}, "timezone": "Europe/Berlin"}
    assert tidy(sent)["timezone"] == "Europe/Berlin"


EXAMPLES = (
    'once {"run_at": "2027-01-31T09:00:00+01:00"}, interval {"hours": 1}, cron {"expression": "30 9 * * MON-FRI"}, '
    'calendar {"rules": [{"times": ["09:00"], "days": [1, -1]}]}, words {"text": "every weekday at 8:30"}'
)


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (
            {"trigger_type": "interval", "trigger_config": 30},
            'trigger_config is 30, without a unit. Name it, as in {"minutes": 30}.',
        ),
        (
            {"trigger_type": "interval", "trigger_config": "30"},
            'trigger_config is 30, without a unit. Name it, as in {"minutes": 30}.',
        ),
        ({"trigger_type": "cron", "trigger_config": ["0 9 * * *"]}, f"trigger_config must be an object: {EXAMPLES}."),
        ({"trigger_config": {"when": "later"}}, f"trigger_type is required: one of {EXAMPLES}."),
        ({"hours": 1, "cron": "0 9 * * *"}, f"trigger_type is required: one of {EXAMPLES}."),
    ],
)
def test_what_may_mean_two_things_gets_examples(sent: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadArguments) as refused:
        tidy(sent)
    assert str(refused.value) == sentence


KEYS = st.sampled_from(
    ["trigger_type", "trigger_config", "hours", "days", "run_at", "expression", "cron", "every", "timezone", "name"]
)


@given(st.dictionaries(KEYS | st.text(max_size=4), JSON | WORDS | st.dictionaries(KEYS, JSON | WORDS, max_size=3)))
def test_whatever_is_sent_is_tidied_or_refused_in_a_sentence(sent: dict[str, Any]) -> None:
    try:
        tidied = tidy(sent)
    except BadArguments:
        return
    assert isinstance(tidied.get("trigger_config", {}), dict)


def test_a_configuration_nested_without_end_is_no_fault() -> None:
    nested = '{"once":' * 900 + "1" + "}" * 900
    assert tidy({"trigger_config": nested})["trigger_type"] == "once"


# -- all the way: what job is made of it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "schedule", "first"),
    [
        ({"trigger_type": "interval", "trigger_config": "PT90M"}, "Every 90 minutes", "2027-03-01T09:30:00"),
        ({"trigger_type": "interval", "trigger_config": {"every": "2h"}}, "Every 2 hours", "2027-03-01T10:00:00"),
        ({"every": "day at 9:30"}, "At 09:30 every day, UTC", "2027-03-01T09:30:00"),
        ({"trigger_type": "cron", "trigger_config": "@daily"}, "At 00:00 every day, UTC", "2027-03-02T00:00:00"),
        (
            {"trigger_type": "once", "trigger_config": {"run_at": "tomorrow at 9"}},
            "On Tuesday 2 March 2027 at 09:00, UTC",
            "2027-03-02T09:00:00",
        ),
        (
            {"trigger_type": "once", "run_at": "2027-03-01T09:30"},
            "On Monday 1 March 2027 at 09:30, UTC",
            "2027-03-01T09:30:00",
        ),
        (
            {"trigger_type": "words", "trigger_config": "last day of the month at 17:00"},
            "At 17:00 on the last day of the month, UTC",
            "2027-03-31T17:00:00",
        ),
    ],
)
async def test_the_answer_shows_what_was_understood(
    caller: Caller, sent: dict[str, Any], schedule: str, first: str
) -> None:
    made = await caller.ask("schedule_job", name="n", task="run_backup", **sent)
    assert (made["schedule"], made["next_run"]) == (schedule, f"{first}+00:00")


@pytest.mark.parametrize(
    ("sent", "error", "hint"),
    [
        (
            {"trigger_type": "interval", "trigger_config": {}},
            "Invalid trigger_config for 'interval': it is empty",
            'Give it as {"hours": 1}.',
        ),
        (
            {"trigger_type": "interval"},
            "Invalid trigger_config for 'interval': it is empty",
            'Give it as {"hours": 1}.',
        ),
        (
            {"trigger_type": "interval", "trigger_config": {"hours": -1}},
            "Invalid interval: hours is -1",
            'Numbers must be positive, as in {"hours": 1}.',
        ),
        (
            {"trigger_type": "interval", "trigger_config": {"minutes": "thirty"}},
            "Invalid interval: minutes is 'thirty'",
            'Numbers must be positive, as in {"hours": 1}.',
        ),
        (
            {"trigger_type": "once", "trigger_config": {"run_at": "soonish"}},
            "Invalid time: 'soonish'",
            'Give it in ISO 8601, as in 2027-01-31T09:00:00+01:00, or in words, as in "tomorrow at 9:00".',
        ),
        (
            {"trigger_type": "once", "trigger_config": {"run_at": "every monday"}},
            "Invalid time: 'every monday'",
            'Give it in ISO 8601, as in 2027-01-31T09:00:00+01:00, or in words, as in "tomorrow at 9:00".',
        ),
        (
            {"trigger_type": "cron", "trigger_config": {"hours": 1}},
            "Invalid trigger_config for 'cron': unknown key 'hours'",
            'Give it as {"expression": "30 9 * * MON-FRI"}.',
        ),
    ],
)
async def test_what_cannot_be_scheduled_says_how_to_say_it(
    caller: Caller, sent: dict[str, Any], error: str, hint: str
) -> None:
    assert await caller.ask("schedule_job", name="n", task="run_backup", **sent) == {"error": error, "hint": hint}
