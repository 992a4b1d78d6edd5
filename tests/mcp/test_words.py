"""Words in the tools: choices as data where they are unclear, and any time said in words."""

from datetime import datetime
from typing import Any

import pytest

from tests.mcp.caller import Answer, Caller, text_of

JOB: Answer = {"name": "n", "task": "run_backup", "timezone": "Europe/Berlin"}
REMINDER: Answer = {"message": "Call mum", "notification_topic": "ann-phone"}
# It is Monday 1 March 2027, 06:00 in UTC.


def words_of(facts: Any) -> list[str]:
    return [choice["words"] for choice in facts["choices"]]


async def test_an_unclear_schedule_is_answered_with_choices_as_data_in_every_dialect(caller: Caller) -> None:
    five = ["At 17:00 every day, Berlin time", "At 05:00 every day, Berlin time"]
    job = await caller.ask("schedule_job", **JOB, trigger_type="words", trigger_config={"text": "every day at 5"})
    assert sorted(words_of(job)) == sorted(five)
    assert {"words", "description", "next_at"} == job["choices"][0].keys()
    prompt = await caller.ask("schedule", at="every day at 5", prompt="look", timezone="Europe/Berlin")
    assert prompt["choices"] == job["choices"]
    shown = await caller.ask("preview_schedule", schedule="every day at 5", timezone="Europe/Berlin")
    assert shown["choices"] == job["choices"]
    reminder = await caller.raw("schedule_notification", **REMINDER, datetime="tomorrow at 5", timezone="Europe/Berlin")
    assert reminder.is_error
    assert reminder.structured_content is not None
    assert words_of(reminder.structured_content) == [
        "On Tuesday 2 March 2027 at 05:00, Berlin time",
        "On Tuesday 2 March 2027 at 17:00, Berlin time",
    ]
    assert "On Tuesday 2 March 2027 at 05:00, Berlin time" in text_of(reminder)


async def test_a_time_is_in_the_zone_that_the_user_has_set(caller: Caller) -> None:
    assert "needs a timezone" in await caller.refused("schedule_notification", **REMINDER, time="09:00")
    await caller.ask("set_zone", timezone="Asia/Tokyo")
    made = await caller.ask("schedule_notification", **REMINDER, time="18:00")
    assert made["scheduled_time"] == "2027-03-01T18:00:00+09:00"
    past = await caller.refused("schedule_notification", **REMINDER, time="09:00")
    assert past.startswith('"2027-03-01 09:00" in Asia/Tokyo is past: it is now 2027-03-01 17:00:00.')


async def test_the_words_of_a_choice_are_accepted_and_kept(caller: Caller) -> None:
    unclear = await caller.ask("schedule_job", **JOB, trigger_type="words", trigger_config={"text": "every day at 5"})
    choice = unclear["choices"][0]
    made = await caller.ask("schedule_job", **JOB, trigger_type="words", trigger_config={"text": choice["words"]})
    assert datetime.fromisoformat(made["next_run"]) == datetime.fromisoformat(choice["next_at"])
    assert (await caller.ask("job_status", job_id=made["job_id"]))["said"] == choice["words"]
    assert (await caller.ask("list_jobs"))["jobs"][0]["said"] == choice["words"]


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ({"datetime": "tomorrow at 9:00"}, "2027-03-02T09:00:00+00:00"),
        ({"datetime": "friday 9am", "timezone": "Europe/Berlin"}, "2027-03-05T09:00:00+01:00"),
        ({"time": "9am", "date": "tomorrow", "timezone": "Europe/Berlin"}, "2027-03-02T09:00:00+01:00"),
        ({"time": "09:00", "date": "tomorrow", "timezone": "Europe/Berlin"}, "2027-03-02T09:00:00+01:00"),
        ({"time": "noon", "timezone": "Europe/Berlin"}, "2027-03-01T12:00:00+01:00"),
        ({"time": "noon"}, "2027-03-01T12:00:00+00:00"),
        ({"delay": "2 hours", "timezone": "Europe/Berlin"}, None),
        ({"delay": "in half an hour"}, None),
    ],
)
async def test_a_reminder_takes_its_time_in_words(caller: Caller, said: Answer, at: str | None) -> None:
    made = await caller.ask("schedule_notification", **REMINDER, **said)
    assert at is None or made["scheduled_time"] == at


async def test_lists_take_their_times_in_words(caller: Caller) -> None:
    for day in ("tomorrow", "friday", "8 March"):
        await caller.ask("schedule", at=f"{day} at 09:00", prompt=day)
    for tool, rows, text in (("schedule_list", "tasks", "prompt"), ("list_jobs", "jobs", "name")):

        async def found(tool: str = tool, rows: str = rows, text: str = text, **span: str) -> list[str]:
            return [each[text] for each in (await caller.ask(tool, **span))[rows]]

        assert await found(**{"from": "tomorrow", "to": "tomorrow"}) == ["tomorrow"]
        assert await found(**{"from": "next week"}) == ["8 March"]
        assert await found(to="friday") == ["tomorrow", "friday"]
        assert await found(to="friday at 8:00") == ["tomorrow"]
        assert await found(**{"from": "yesterday", "to": "today"}) == []


async def test_a_rhythm_of_one_day_begins_at_its_start(caller: Caller) -> None:
    made = await caller.ask("schedule", at="tomorrow at 9:00", prompt="look", every="1 day", timezone="Europe/Berlin")
    assert made["task"]["schedule"] == "At 09:00 every day, Berlin time"
    assert made["task"]["at"] == "2027-03-02T09:00:00+01:00"
