"""Every tool, text and filter of the agenda dialect, through real clients."""

import re

import pytest

from tests.mcp.caller import Answer, Caller, until
from tests.stories.conftest import Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

NEW_YEAR = {"at": "2031-01-01T09:00:00", "timezone": "Europe/Berlin"}
LONG = "Look at every open pull request of the last seven days and sum up which of them need me today, please."


async def put(caller: Caller, prompt: str = "call Ann", **when: object) -> int:
    """An item on the agenda; its number."""
    text = await caller.say("schedule", prompt=prompt, **(when or NEW_YEAR))
    found = re.match(r"Scheduled task #(\d+) for ", text)
    assert found, text
    return int(found[1])


# -- schedule ------------------------------------------------------------------------------------------------------


async def test_scheduling_confirms_number_local_time_and_prompt(caller: Caller) -> None:
    result = await caller.raw("schedule", prompt="call Ann", **NEW_YEAR)
    assert result.structured_content is not None
    task = result.structured_content["task"]
    assert await caller.say("schedule_list") == (
        f"#{task['id']}  Wed 1 Jan 2031 09:00, Europe/Berlin  [pending]  call Ann"
    )
    assert task == {
        "id": task["id"],
        "at": "2031-01-01T09:00:00+01:00",
        "status": "pending",
        "prompt": "call Ann",
        "agent": None,
        "schedule": "On Wednesday 1 January 2031 at 09:00, Berlin time",
        "timezone": "Europe/Berlin",
    }


async def test_the_confirmation_shows_the_first_80_characters(caller: Caller) -> None:
    text = await caller.say("schedule", prompt=LONG, **NEW_YEAR)
    number = text.split("#")[1].split(" ")[0]
    assert text == f'Scheduled task #{number} for Wed 1 Jan 2031 09:00, Europe/Berlin: "{LONG[:79]}…"'


@pytest.mark.parametrize(
    ("said", "schedule"),
    [
        ({"at": "every weekday at 8:30"}, "At 08:30 on weekdays, UTC"),
        ({"at": "2031-01-01T09:00:00Z", "every": "2h"}, "Every 2 hours"),
        ({"at": "2031-01-01T09:00:00Z", "cron": "0 9 * * 1-5"}, "At 09:00 on weekdays, UTC"),
    ],
)
async def test_an_item_may_repeat(caller: Caller, said: Answer, schedule: str) -> None:
    made = await caller.ask("schedule", prompt="look", **said)
    assert made["task"]["schedule"] == schedule
    if "T" in said["at"]:
        assert made["task"]["at"] == "2031-01-01T09:00:00+00:00"


ACCEPTED = (
    'Use ISO 8601 ("2027-01-31T09:00:00+01:00", or without an offset in timezone), times in words '
    '("tomorrow at 9:00", "in 2h30m", "next Friday 17:00"), and rules ("every weekday at 8:30").'
)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"at": "blurgh"}, f'Error: could not parse "blurgh" as a date/time. {ACCEPTED}'),
        ({"at": "blurgh", "cron": "0 9 * * *"}, f'Error: could not parse "blurgh" as a date/time. {ACCEPTED}'),
        (
            {"at": "2031-01-01T09:00:00Z", "every": "blurgh"},
            'Error: could not parse every: "blurgh". Write how often, as in "2h" or "1 day".',
        ),
        ({"at": "2031-01-01T09:00:00Z", "every": "2h", "cron": "0 9 * * *"}, "Error: Give every or cron, not both."),
        (
            {"at": "tomorrow at 9", "timezone": "Berln"},
            'Error: Unknown time zone: Berln. Did you mean "Europe/Berlin"? Use a region name such as '
            '"Europe/Berlin" or "America/New_York", or "UTC".',
        ),
        (
            {"at": "tomorrow at 9", "prompt": " "},
            "Error: The prompt is empty. Write what the agent should do.",
        ),
    ],
)
async def test_what_cannot_be_scheduled_is_an_error_text(caller: Caller, said: Answer, text: str) -> None:
    arguments: Answer = {"prompt": "look", **said}
    assert await caller.say("schedule", **arguments) == text
    assert await caller.ask("schedule", **arguments) == {"error": text}
    assert await caller.say("schedule_list") == "No scheduled tasks found matching filters."


async def test_a_past_time_is_quoted_with_the_current_one(caller: Caller) -> None:
    text = await caller.say("schedule", at="2020-01-01T09:00:00Z", prompt="look")
    assert re.fullmatch(r"Error: 2020-01-01T09:00:00\+00:00 has passed: it is \S+\. Name a later time\.", text), text


# -- schedule_list -------------------------------------------------------------------------------------------------


async def test_an_empty_agenda(caller: Caller) -> None:
    assert await caller.say("schedule_list") == "No scheduled tasks found matching filters."
    assert await caller.ask("schedule_list") == {"tasks": [], "count": 0}


async def test_rows_by_fire_time_with_the_prompt_cut_at_60(caller: Caller) -> None:
    third = await put(caller, LONG, at="2031-01-03T09:00:00Z")
    first = await put(caller, "first", at="2031-01-01T09:00:00Z")
    second = await put(caller, "two\nlines", at="2031-01-02T09:00:30Z")
    assert (await caller.say("schedule_list")).splitlines() == [
        f"#{first}  Wed 1 Jan 2031 09:00, UTC  [pending]  first",
        f"#{second}  Thu 2 Jan 2031 09:00:30, UTC  [pending]  two lines",
        f"#{third}  Fri 3 Jan 2031 09:00, UTC  [pending]  {LONG[:59]}…",
    ]
    listed = await caller.ask("schedule_list")
    assert [task["id"] for task in listed["tasks"]] == [first, second, third]
    assert listed["count"] == 3
    assert listed["tasks"][2]["prompt"] == LONG  # the data is complete even where the text is cut


async def test_a_date_range_includes_both_ends(caller: Caller) -> None:
    numbers = [await put(caller, f"day {day}", at=f"2031-01-0{day}T23:30:00Z") for day in (1, 2, 3)]

    async def listed(**span: str) -> list[int]:
        return [task["id"] for task in (await caller.ask("schedule_list", **span))["tasks"]]

    assert await listed(**{"from": "2031-01-02", "to": "2031-01-02"}) == [numbers[1]]
    assert await listed(**{"from": "2031-01-02T23:30:00Z"}) == numbers[1:]
    assert await listed(to="2031-01-02T23:30:00Z") == numbers[:2]
    assert await listed(**{"from": "2031-01-04"}) == []


async def test_listing_by_status(caller: Caller) -> None:
    kept, off = await put(caller, "kept"), await put(caller, "called off")
    await caller.say("schedule_cancel", id=off)
    assert [task["id"] for task in (await caller.ask("schedule_list"))["tasks"]] == [kept]
    cancelled = await caller.say("schedule_list", status="cancelled")
    assert cancelled == f"#{off}  Wed 1 Jan 2031 09:00, Europe/Berlin  [cancelled]  called off"
    assert await caller.say("schedule_list", status="failed") == "No scheduled tasks found matching filters."


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        (
            {"status": "done"},
            'Error: unknown status "done". Use one of: pending, running, completed, failed, cancelled.',
        ),
        (
            {"from": "not a date"},
            "Error: Invalid time: 'not a date'. Give it in ISO 8601, as in 2027-01-31T09:00:00+01:00, or in words, "
            'as in "tomorrow at 9:00". A date such as 2027-01-31 means the whole day.',
        ),
        (
            {"to": "2031-02-30"},
            "Error: Invalid time: '2031-02-30'. Give it in ISO 8601, as in 2027-01-31T09:00:00+01:00. A date such as "
            "2027-01-31 means the whole day.",
        ),
    ],
)
async def test_a_bad_filter_is_told_what_is_valid(caller: Caller, filters: Answer, text: str) -> None:
    assert await caller.say("schedule_list", **filters) == text


async def test_only_prompts_are_on_the_agenda(caller: Caller) -> None:
    await caller.ask("schedule_job", name="n", task="run_backup", hours=1)
    assert await caller.say("schedule_list") == "No scheduled tasks found matching filters."


# -- schedule_edit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"at": "2031-01-02T10:00:00"}, 'Thu 2 Jan 2031 10:00, Europe/Berlin: "call Ann"'),
        ({"prompt": "call Bob"}, 'Wed 1 Jan 2031 09:00, Europe/Berlin: "call Bob"'),
        ({"at": "2031-01-02T10:00:00", "prompt": "call Bob"}, 'Thu 2 Jan 2031 10:00, Europe/Berlin: "call Bob"'),
    ],
)
async def test_editing_time_and_prompt(caller: Caller, changes: Answer, text: str) -> None:
    number = await put(caller)
    assert await caller.say("schedule_edit", id=number, **changes) == f"Updated task #{number}: {text}"
    [task] = (await caller.ask("schedule_list"))["tasks"]
    assert task["prompt"] == changes.get("prompt", "call Ann")
    assert task["at"] == f"{changes.get('at', '2031-01-01T09:00:00')}+01:00"


async def test_what_is_not_pending_is_not_editable(caller: Caller) -> None:
    cancelled = await put(caller)
    await caller.say("schedule_cancel", id=cancelled)
    job = await caller.ask("schedule_job", name="n", task="run_backup", hours=1)
    for number in (cancelled, int(job["job_id"].split("_")[1]), 999_999):
        text = f"Task #{number} not found or not editable (only pending tasks can be edited)."
        assert await caller.say("schedule_edit", id=number, prompt="too late") == text
        assert await caller.ask("schedule_edit", id=number, at="2031-01-01T09:00:00Z") == {"error": text}


async def test_an_edit_needs_something_to_change_and_a_time_it_can_read(caller: Caller) -> None:
    number = await put(caller)
    assert await caller.say("schedule_edit", id=number) == "Error: nothing to change: give at, prompt, or both."
    unread = await caller.say("schedule_edit", id=number, at="blurgh")
    assert unread == f'Error: could not parse "blurgh" as a date/time. {ACCEPTED}'
    missing = await caller.refused("schedule_edit", prompt="x")
    assert missing == "id is required: The task's number, as schedule or schedule_list gave it."


@pytest.mark.parametrize("form", ["{}", "#{}", " {} "])
async def test_a_number_may_be_written_as_lists_show_it(caller: Caller, form: str) -> None:
    number = await put(caller)
    edited = await caller.say("schedule_edit", id=form.format(number), prompt="call Bob")
    assert edited.startswith(f"Updated task #{number}: ")


async def test_a_job_id_names_the_same_item(caller: Caller) -> None:
    number = await put(caller)
    [job] = (await caller.ask("list_jobs"))["jobs"]
    assert await caller.say("schedule_cancel", id=job["job_id"]) == f"Cancelled task #{number}."


# -- schedule_cancel -----------------------------------------------------------------------------------------------


async def test_cancelling(caller: Caller) -> None:
    number = await put(caller)
    assert await caller.say("schedule_cancel", id=number) == f"Cancelled task #{number}."
    assert await caller.say("schedule_list") == "No scheduled tasks found matching filters."
    text = f"Task #{number} not found or not editable (only pending tasks can be cancelled)."
    assert await caller.say("schedule_cancel", id=number) == text
    assert await caller.ask("schedule_cancel", id=number) == {"error": text}
    assert await caller.say("schedule_cancel", id=999_999) == text.replace(str(number), "999999")


async def test_what_has_fired_can_be_neither_edited_nor_cancelled(caller: Caller) -> None:
    number = await put(caller, at="in 1s")
    await until(lambda: caller.say("schedule_list", status="running"), lambda seen: f"#{number} " in seen)
    for tool, verb in (("schedule_edit", "edited"), ("schedule_cancel", "cancelled")):
        changes: Answer = {"prompt": "too late"} if tool == "schedule_edit" else {}
        text = f"Task #{number} not found or not editable (only pending tasks can be {verb})."
        assert await caller.say(tool, id=number, **changes) == text


# -- wiring --------------------------------------------------------------------------------------------------------


async def test_a_conversation_and_a_heartbeat_share_one_agenda(empty_town: Town) -> None:
    conversation, heartbeat = empty_town.callers["stdio 2025-11-25"], empty_town.callers["http 2026-07-28"]
    number = await put(conversation)
    assert f"#{number} " in await heartbeat.say("schedule_list")
    assert (await heartbeat.say("schedule_edit", id=number, prompt="call Bob")).endswith('"call Bob"')
    assert (await conversation.ask("schedule_list"))["tasks"][0]["prompt"] == "call Bob"
    assert await heartbeat.say("schedule_cancel", id=number) == f"Cancelled task #{number}."
    assert await conversation.say("schedule_list") == "No scheduled tasks found matching filters."
