"""Every acceptance scenario of the notifications dialect, and the rest of it, through real clients."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.mcp.caller import Answer, Caller, until
from tests.stories.conftest import Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

LISTED = [
    *("schedule_id", "cron_expression", "timezone", "notification_topic", "label"),
    *("paused", "next_occurrence", "last_occurrence", "notification_body"),
]


async def daily(caller: Caller, message: str = "Stand-up", topic: str = "ann-phone", **rest: object) -> str:
    """A cron schedule; its id."""
    made = await caller.ask(
        "schedule_cron_notification",
        message=message,
        notification_topic=topic,
        cron="0 9 * * 1-5",
        timezone="Europe/Berlin",
        **rest,
    )
    return made["schedule_id"]


async def listed(caller: Caller, **arguments: object) -> list[Answer]:
    answer = await caller.ask("list_scheduled_notifications", **arguments)
    assert answer["count"] == len(answer["schedules"])
    return answer["schedules"]


def later(**ahead: float) -> datetime:
    return (datetime.now(UTC) + timedelta(**ahead)).replace(microsecond=0)


# -- acceptance criteria -------------------------------------------------------------------------------------------


async def test_delete_existing_schedule(caller: Caller) -> None:
    schedule_id = await daily(caller)
    assert schedule_id.startswith("scd_")
    assert await caller.ask("delete_schedule", schedule_id=schedule_id) == {
        "success": True,
        "schedule_id": schedule_id,
        "confirmation": f"Schedule {schedule_id} deleted successfully",
    }
    assert await listed(caller) == []
    assert (await caller.ask("list_jobs"))["total"] == 0


async def test_delete_non_existent_schedule(caller: Caller) -> None:
    assert await caller.ask("delete_schedule", schedule_id="scd_nonexistent") == {
        "success": False,
        "schedule_id": "scd_nonexistent",
        "error": "Schedule not found: scd_nonexistent. It may have already been deleted or the ID is incorrect.",
    }


async def test_delete_with_invalid_id_format(caller: Caller) -> None:
    assert await caller.ask("delete_schedule", schedule_id="invalid-id-123") == {
        "success": False,
        "schedule_id": "invalid-id-123",
        "error": "Schedule not found: invalid-id-123. It may have already been deleted or the ID is incorrect.",
    }


@pytest.mark.parametrize("arguments", [{}, {"schedule_id": None}])
async def test_missing_schedule_id_parameter(caller: Caller, arguments: Answer) -> None:
    assert await caller.refused("delete_schedule", **arguments) == "schedule_id is required: The schedule ID to delete."


async def test_a_second_delete_finds_nothing(caller: Caller) -> None:
    schedule_id = await daily(caller)
    await caller.ask("delete_schedule", schedule_id=schedule_id)
    again = await caller.ask("delete_schedule", schedule_id=schedule_id)
    assert again["success"] is False
    assert again["error"].startswith(f"Schedule not found: {schedule_id}.")


async def test_a_deleted_schedule_keeps_the_history_of_its_runs(caller: Caller, empty_town: Town) -> None:
    schedule_id = await daily(caller, topic="kept")
    await caller.ask("run_job_now", job_id=schedule_id)
    await until(lambda: caller.ask("list_runs", job_id=schedule_id), lambda seen: seen["runs"][0]["verdict"] == "done")
    await caller.ask("delete_schedule", schedule_id=schedule_id)
    shown = await caller.ask("list_runs", job_id=schedule_id)
    assert shown["error"] == f"Job not found: {schedule_id}"  # hidden from its owner
    assert len(empty_town.ntfy.to("kept")) == 1
    assert await kept_runs(empty_town) >= 1


async def kept_runs(town: Town) -> int:
    return await town.count("select count(*) from cronty.runs join cronty.jobs on id = job_id where deleted_at notnull")


# -- schedule_notification -----------------------------------------------------------------------------------------


async def test_a_moment_with_an_offset(caller: Caller) -> None:
    made = await caller.ask(
        "schedule_notification",
        message="Call mum",
        notification_topic="ann-phone",
        datetime="2031-01-31T09:00:00+01:00",
        timezone="Europe/Berlin",
    )
    assert made == {
        "success": True,
        "message_id": made["schedule_id"],
        "schedule_id": made["schedule_id"],
        "scheduled_time": "2031-01-31T09:00:00+01:00",
        "confirmation": "Notification scheduled for Fri 31 Jan 2031 09:00, Europe/Berlin.",
    }


@pytest.mark.parametrize(("clock", "shown"), [("18:00", "18:00:00"), ("9:00", "09:00:00"), ("9:00:05", "09:00:05")])
async def test_a_time_of_day_on_a_date_in_a_zone(caller: Caller, clock: str, shown: str) -> None:
    made = await caller.ask(
        "schedule_notification",
        message="Call mum",
        notification_topic="ann-phone",
        date="2031-07-01",
        time=clock,
        timezone="America/New_York",
    )
    assert made["scheduled_time"] == f"2031-07-01T{shown}-04:00"


async def test_without_a_date_it_is_today_in_that_zone(caller: Caller) -> None:
    here = datetime.now(ZoneInfo("Pacific/Auckland"))
    said: Answer = {"time": "23:59:59", "timezone": "Pacific/Auckland"}
    made = await caller.ask("schedule_notification", message="late", notification_topic="ann-phone", **said)
    assert made["scheduled_time"][:19] == f"{here.date()}T23:59:59"


@pytest.mark.parametrize(
    ("delay", "ahead"),
    [("1d2h30m5s", timedelta(days=1, hours=2, minutes=30, seconds=5)), ("45m", timedelta(minutes=45))],
)
async def test_a_delay_from_now(caller: Caller, delay: str, ahead: timedelta) -> None:
    made = await caller.ask("schedule_notification", message="tea", notification_topic="ann-phone", delay=delay)
    assert made["delay"] == delay
    assert made["message_id"] == made["schedule_id"]
    off = datetime.fromisoformat(made["scheduled_time"]) - datetime.now(UTC) - ahead
    assert abs(off) < timedelta(seconds=5)


MODES = (
    'Give exactly one of: datetime ("2027-01-31T09:00:00+01:00"), time with timezone ("09:00", "Europe/Berlin"), '
    'or delay ("2h30m").'
)
NEAR_BERLIN = (
    'Unknown time zone: Europe/Berln. Did you mean "Europe/Berlin"? '
    'Use a region name such as "Europe/Berlin" or "America/New_York", or "UTC".'
)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({}, f"No time was given. {MODES}"),
        ({"date": "2031-01-31", "timezone": "UTC"}, f"No time was given. {MODES}"),
        (
            {"delay": "1h", "time": "09:00", "timezone": "UTC"},
            f"Several times were given: time and delay. {MODES}",
        ),
        (
            {"delay": "1h", "datetime": "2031-01-31T09:00:00Z", "time": "09:00", "timezone": "UTC"},
            f"Several times were given: datetime and time and delay. {MODES}",
        ),
        (
            {"datetime": "2031-01-31T09:00:00"},
            'datetime "2031-01-31T09:00:00" has no offset, so it is a different time in every time zone. Give '
            '"date": "2031-01-31", "time": "09:00" and the user\'s "timezone" instead, or add the offset, as in '
            '"2031-01-31T09:00:00+01:00" for a winter\'s day in Berlin.',
        ),
        ({"time": "09:00"}, 'time "09:00" needs a timezone, as in "timezone": "Europe/Berlin".'),
        ({"time": "09:00", "timezone": "Europe/Berln"}, NEAR_BERLIN),
        ({"delay": "1h", "timezone": "Europe/Berln"}, NEAR_BERLIN),
        (
            {"delay": "soon"},
            'Invalid delay: "soon". Use days, hours, minutes, seconds in that order, as in 1d2h30m5s.',
        ),
    ],
)
async def test_when_must_be_said_once_and_clearly(caller: Caller, said: Answer, sentence: str) -> None:
    words: Answer = {"message": "Call mum", "notification_topic": "ann-phone", **said}
    assert await caller.refused("schedule_notification", **words) == sentence
    assert await listed(caller) == []


async def test_a_past_moment_is_quoted_with_the_current_time(caller: Caller) -> None:
    text = await caller.refused(
        "schedule_notification", message="x", notification_topic="t", datetime="2020-01-31T09:00:00+01:00"
    )
    found = re.fullmatch(
        r'datetime "2020-01-31T09:00:00\+01:00" is past: it is now (\S+\+01:00)\. Give a later one, or a delay '
        r'such as "1h"\.',
        text,
    )
    assert found, text
    assert abs(datetime.fromisoformat(found[1]) - datetime.now(UTC)) < timedelta(seconds=5)


async def test_a_time_of_day_that_has_passed_is_offered_for_tomorrow(caller: Caller) -> None:
    zone = ZoneInfo("Europe/Berlin")
    now = datetime.now(zone)
    if now.hour == 0:
        zone, now = ZoneInfo("Asia/Tokyo"), datetime.now(ZoneInfo("Asia/Tokyo"))
    text = await caller.refused(
        "schedule_notification", message="x", notification_topic="t", time="00:00", timezone=zone.key
    )
    tomorrow = now.date() + timedelta(days=1)
    assert text.startswith(f'"{now.date()} 00:00" in {zone.key} is past: it is now {now.date()} ')
    assert text.endswith(f'. For tomorrow give "date": "{tomorrow}".')


# -- schedule_cron_notification ------------------------------------------------------------------------------------


async def test_a_cron_notification(caller: Caller) -> None:
    made = await caller.ask(
        "schedule_cron_notification",
        message="Stand-up",
        notification_topic="ann-phone",
        cron="30 8 * * 1-5",
        timezone="Europe/Berlin",
        label="daily stand-up",
    )
    assert made["success"] is True
    assert made["cron"] == "CRON_TZ=Europe/Berlin 30 8 * * 1-5"
    assert made["confirmation"].startswith("Notification scheduled: At 08:30 on weekdays, Berlin time. First: ")
    [one] = await listed(caller)
    assert [one[name] for name in LISTED if name != "next_occurrence"] == [
        *(made["schedule_id"], "30 8 * * 1-5", "Europe/Berlin", "ann-phone", "daily stand-up", False, None, "Stand-up")
    ]
    assert (one["next_occurrence"][11:16], one["type"]) == ("08:30", "cron")


EXAMPLE = 'Example: "30 9 * * MON-FRI" is 09:30 on weekdays (minute hour day-of-month month day-of-week).'


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"cron": "0 9 * *"}, f"Invalid cron expression: 0 9 * *. It has 4 fields; exactly five are needed. {EXAMPLE}"),
        (
            {"cron": "0 25 * * *"},
            f'Invalid cron expression: 0 25 * * *. hour: 25 is outside 0-23; try "9" or "9-17". {EXAMPLE}',
        ),
        ({"timezone": "Europe/Berln"}, NEAR_BERLIN),
        (
            {"cron": "CRON_TZ=UTC 0 9 * * *"},
            'The cron says UTC and timezone says Europe/Berlin. Give "0 9 * * *" and one timezone.',
        ),
        (
            {"notification_topic": "Ann_Phone"},
            "notification_topic must be 1 to 64 lower-case letters and digits with single dashes between them, such "
            "as 'ann-alerts', not 'Ann_Phone'.",
        ),
        ({"timezone": None}, "timezone is required: IANA time zone the cron is meant in, e.g. Europe/Berlin."),
    ],
)
async def test_a_cron_notification_that_cannot_be_says_why(caller: Caller, said: Answer, sentence: str) -> None:
    words: Answer = {"message": "m", "notification_topic": "t", "cron": "0 9 * * *", "timezone": "Europe/Berlin"}
    assert await caller.refused("schedule_cron_notification", **{**words, **said}) == sentence


# -- list, pause, resume -------------------------------------------------------------------------------------------


async def test_an_empty_list_is_success(caller: Caller) -> None:
    assert await caller.ask("list_scheduled_notifications") == {"schedules": [], "count": 0}
    await daily(caller)
    none: Answer = {"schedules": [], "count": 0}
    assert await caller.ask("list_scheduled_notifications", notification_topic="nobody") == none


async def test_listing_by_topic_with_one_offs_marked(caller: Caller) -> None:
    recurring = await daily(caller, "Stand-up", "ann-phone")
    await daily(caller, "Stand-up", "bob-phone")
    once = await caller.ask(
        "schedule_notification", message="Call mum", notification_topic="ann-phone", datetime="2031-01-31T09:00:00Z"
    )
    found = await listed(caller, notification_topic="ann-phone")
    assert [(one["schedule_id"], one["type"], one["cron_expression"]) for one in found] == [
        (recurring, "cron", "0 9 * * 1-5"),
        (once["schedule_id"], "once", None),
    ]
    assert (found[1]["next_occurrence"], found[1]["notification_body"]) == ("2031-01-31T09:00:00+00:00", "Call mum")
    assert len(await listed(caller)) == 3


async def test_pause_and_resume_can_be_repeated(caller: Caller) -> None:
    schedule_id = await daily(caller)
    for _ in range(2):
        assert await caller.ask("pause_schedule", schedule_id=schedule_id) == {
            "success": True,
            "schedule_id": schedule_id,
            "paused": True,
            "confirmation": f"Schedule {schedule_id} paused; resume_schedule continues it.",
        }
    [one] = await listed(caller)
    assert (one["paused"], one["next_occurrence"]) == (True, None)
    for _ in range(2):
        resumed = await caller.ask("resume_schedule", schedule_id=schedule_id)
        assert (resumed["success"], resumed["paused"]) == (True, False)
        assert resumed["confirmation"].startswith(f"Schedule {schedule_id} resumed; next: ")
    [one] = await listed(caller)
    assert one["paused"] is False
    assert one["next_occurrence"] is not None


@pytest.mark.parametrize("tool", ["pause_schedule", "resume_schedule"])
async def test_what_is_not_there_cannot_be_paused_or_resumed(caller: Caller, tool: str) -> None:
    assert await caller.ask(tool, schedule_id="scd_nonexistent") == {
        "success": False,
        "schedule_id": "scd_nonexistent",
        "error": "Schedule not found: scd_nonexistent. It may have already been deleted or the ID is incorrect.",
    }
    assert (await caller.refused(tool)).startswith("schedule_id is required: ")


async def test_any_form_of_an_id_names_a_schedule(caller: Caller) -> None:
    schedule_id = await daily(caller)
    [job] = (await caller.ask("list_jobs"))["jobs"]
    paused = await caller.ask("pause_schedule", schedule_id=job["job_id"])
    assert (paused["success"], paused["schedule_id"]) == (True, job["job_id"])
    assert (await caller.ask("job_status", job_id=schedule_id))["paused"] is True


# -- delivery ------------------------------------------------------------------------------------------------------


async def test_a_notification_due_in_a_second_really_arrives_once(caller: Caller, empty_town: Town, line: str) -> None:
    topic = "arrives-" + re.sub("[^a-z0-9]", "", line)
    made = await caller.ask("schedule_notification", message="Tea is ready", notification_topic=topic, delay="1s")
    shown = await until(
        lambda: caller.ask("job_status", job_id=made["schedule_id"]), lambda seen: seen["status"] == "completed"
    )
    assert empty_town.ntfy.to(topic) == [{"topic": topic, "message": "Tea is ready"}]
    assert [run["verdict"] for run in shown["runs"]] == ["done"]
    assert await listed(caller, notification_topic=topic) == []


async def test_send_push_notification_delivers_every_field(caller: Caller, empty_town: Town) -> None:
    fields: Answer = {
        "message": "Build **green**",
        "title": "CI",
        "priority": 4,
        "tags": ["tada", "ci"],
        "markdown": True,
        "click": "https://example.com/build/1",
        "icon": "https://example.com/icon.png",
        "attach": "https://example.com/log.txt",
        "filename": "log.txt",
        "actions": [{"action": "view", "label": "Open", "url": "https://example.com"}],
    }
    sent = await caller.ask("send_push_notification", notification_topic="ann-phone", **fields)
    assert sent == {"success": True, "id": "msg1", "confirmation": "Notification sent to ann-phone."}
    assert empty_town.ntfy.published == [{"topic": "ann-phone", **fields}]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"priority": 9}, "Not sent: priority must be a whole number from 1 to 5, not 9."),
        (
            {"actions": [{"action": "view", "label": "Open", "url": "https://example.com"}] * 4},
            "Not sent: actions holds 4 buttons, and a notification has room for 3.",
        ),
        (
            {"notification_topic": "Ann"},
            "Not sent: notification_topic must be 1 to 64 lower-case letters and digits with single dashes between "
            "them, such as 'ann-alerts', not 'Ann'.",
        ),
    ],
)
async def test_what_ntfy_would_not_take_is_not_sent(
    caller: Caller, empty_town: Town, said: Answer, sentence: str
) -> None:
    words: Answer = {"message": "m", "notification_topic": "t", **said}
    assert await caller.refused("send_push_notification", **words) == sentence
    assert empty_town.ntfy.published == []


async def test_a_failure_says_that_ntfy_is_down_or_busy(caller: Caller, empty_town: Town) -> None:
    empty_town.ntfy.status = 503
    busy = await caller.refused("send_push_notification", message="m", notification_topic="t")
    empty_town.ntfy.stop()
    try:
        down = await caller.refused("send_push_notification", message="m", notification_topic="t")
    finally:
        empty_town.ntfy.start()
    hint = "Try again in a minute, or schedule it to have it retried."
    assert busy == f"Not sent: '127.0.0.1' answered 503; the server said: 'busy'. {hint}"
    assert down == f"Not sent: Calling '127.0.0.1' failed: it refused the connection. {hint}"


# -- get_current_time ----------------------------------------------------------------------------------------------


async def test_the_current_time_in_a_zone(caller: Caller) -> None:
    before = datetime.now(UTC).timestamp()
    now = await caller.ask("get_current_time", timezone="Asia/Calcutta")
    after = datetime.now(UTC).timestamp()
    assert list(now) == ["datetime", "date", "time", "timezone", "utc", "timestamp_ms"]
    local = datetime.fromisoformat(now["datetime"])
    assert local.utcoffset() == timedelta(hours=5, minutes=30)
    assert (now["date"], now["time"]) == (local.date().isoformat(), f"{local:%H:%M:%S}")
    assert now["timezone"] == "Asia/Kolkata"
    assert datetime.fromisoformat(now["utc"]) == local
    assert before - 0.001 <= now["timestamp_ms"] / 1000 <= after
    assert (await caller.ask("get_current_time"))["timezone"] == "UTC"


async def test_an_unknown_zone_is_named_with_near_ones(caller: Caller) -> None:
    assert await caller.refused("get_current_time", timezone="Europe/Berln") == NEAR_BERLIN
