"""What all dialects share: look back, run now, change, preview, list; resources and prompts."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from mcp import MCPError
from mcp.types import TextContent, TextResourceContents

from tests.mcp.caller import Answer, Caller, until
from tests.stories.conftest import Town, speaking

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def hourly(caller: Caller, **rest: object) -> Answer:
    return await caller.ask("schedule_job", name="hourly_cleanup", task="cleanup_temp_files", hours=1, **rest)


async def resource(caller: Caller, uri: str) -> TextResourceContents:
    [content] = (await caller.client.read_resource(uri, cache_mode="bypass")).contents
    assert isinstance(content, TextResourceContents)
    return content


# -- run_job_now, list_runs ----------------------------------------------------------------------------------------


async def test_a_job_run_now_keeps_its_schedule(caller: Caller) -> None:
    job = await hourly(caller)
    started = await caller.ask("run_job_now", job_id=job["job_id"])
    assert started == {"run_id": started["run_id"], "job_id": job["job_id"]}
    seen = await until(
        lambda: caller.ask("list_runs", job_id=job["job_id"]), lambda seen: seen["runs"][0]["verdict"] == "done"
    )
    [run] = seen["runs"]
    assert (run["run_id"], run["manual"], run["attempt"]) == (started["run_id"], True, 1)
    assert (run["result"], run["error"], run["reason"]) == ("cleaned /tmp", None, "asked for")
    assert (await caller.ask("job_status", job_id=job["job_id"]))["next_run"] == job["next_run"]


async def test_a_slot_that_came_while_the_job_was_paused_says_why_it_did_not_run(caller: Caller) -> None:
    job = await caller.ask("schedule_job", name="often", task="run_backup", seconds=1)
    await caller.ask("pause_schedule", schedule_id=job["job_id"])
    slot = datetime.fromisoformat(job["next_run"]).timestamp() * 1000
    await until(lambda: caller.ask("get_current_time"), lambda now: now["timestamp_ms"] > slot)
    await caller.ask("resume_schedule", schedule_id=job["job_id"])
    await caller.ask("cancel_job", job_id=job["job_id"])
    seen = await caller.ask("list_runs", job_id=job["job_id"], verdict="skipped")
    assert [(run["verdict"], run["reason"]) for run in seen["runs"]] == [("skipped", "the job was paused")]
    assert (await caller.ask("list_runs", job_id=job["job_id"], verdict="failed"))["runs"] == []


async def test_an_unknown_job_or_verdict_is_told_what_there_is(caller: Caller) -> None:
    job = await hourly(caller)
    unknown = await caller.ask("list_runs", job_id=job["job_id"], verdict="ok")
    assert unknown == {
        "error": "Unknown run state: ok",
        "hint": "Use one of: waiting, running, done, failed, cancelled, skipped, coalesced, missed, quarantined.",
    }
    for tool in ("list_runs", "run_job_now", "edit_job"):
        answer = await caller.ask(tool, job_id="job_999999_1")
        assert answer["error"] == "Job not found: job_999999_1"


# -- edit_job ------------------------------------------------------------------------------------------------------


async def test_a_recurring_job_is_changed_from_its_next_run_on(caller: Caller) -> None:
    job = await hourly(caller)
    changed = await caller.ask(
        "edit_job",
        job_id=job["job_id"],
        expected_version=job["version"],
        name="nightly",
        trigger_type="words",
        trigger_config={"text": "every weekday at 9:00"},
        timezone="Europe/Berlin",
        task="run_backup",
        kwargs={"compress": True},
        tags=["nightly"],
        max_runs=5,
    )
    assert (changed["name"], changed["schedule"]) == ("nightly", "At 09:00 on weekdays, Berlin time")
    assert changed["version"] == job["version"] + 1
    shown = await caller.ask("job_status", job_id=job["job_id"])
    assert (shown["task"], shown["tags"], shown["max_runs"]) == ("run_backup", ["nightly"], 5)


async def test_a_change_to_what_has_changed_meanwhile_is_refused(caller: Caller) -> None:
    job = await hourly(caller)
    await caller.ask("edit_job", job_id=job["job_id"], name="first")
    refused = await caller.ask("edit_job", job_id=job["job_id"], name="second", expected_version=job["version"])
    assert refused == {
        "error": f"Job {job['job_id']} is at version 2, not 1.",
        "hint": "Look at it again and repeat the change with its current version.",
    }
    assert (await caller.ask("job_status", job_id=job["job_id"]))["name"] == "first"


async def test_a_change_of_nothing_or_of_what_has_ended_is_refused(caller: Caller) -> None:
    job = await hourly(caller)
    nothing = await caller.ask("edit_job", job_id=job["job_id"])
    assert nothing == {"error": "Nothing to change was given.", "hint": "Name at least one field to change."}
    await caller.ask("cancel_job", job_id=job["job_id"])
    ended = await caller.ask("edit_job", job_id=job["job_id"], name="too late")
    assert ended["error"] == f"Job {job['job_id']} is cancelled; only a job that has not ended can be edited."


# -- preview_schedule, list_tasks ----------------------------------------------------------------------------------


def next_spring_forward() -> date:
    """The day on which Berlin's clocks next jump from 02:00 to 03:00: the last Sunday of March."""
    today = datetime.now(UTC).date()
    days = [date(year, 3, 31) for year in (today.year, today.year + 1)]
    return next(day for last in days if (day := last - timedelta(days=(last.weekday() + 1) % 7)) > today)


async def test_a_preview_of_the_day_when_clocks_change(caller: Caller) -> None:
    day = next_spring_forward()
    shown = await caller.ask("preview_schedule", schedule=f"30 2 {day.day} 3 *", timezone="Europe/Berlin", count=1)
    [slot] = shown["slots"]
    assert (slot["local"], slot["utc"]) == (f"{day}T03:00:00+02:00", f"{day}T01:00:00+00:00")
    assert "02:30" in slot["note"]
    assert (await caller.ask("list_jobs"))["total"] == 0


async def test_a_preview_in_words(caller: Caller) -> None:
    shown = await caller.ask("preview_schedule", schedule="every weekday at 8:30", timezone="Europe/Berlin", count=3)
    assert (shown["schedule"], len(shown["slots"])) == ("At 08:30 on weekdays, Berlin time", 3)
    bad = await caller.ask("preview_schedule", schedule="blurgh")
    assert bad["error"] == 'Can\'t read "blurgh"'
    assert '"every weekday at 8:30"' in bad["hint"]


async def test_what_may_be_scheduled(caller: Caller) -> None:
    tasks = {task["name"]: task for task in (await caller.ask("list_tasks"))["tasks"]}
    assert list(tasks) == ["cleanup_temp_files", "fill_the_disk", "notify", "prompt", "run_backup", "webhook"]
    assert tasks["run_backup"]["doc"] == "Back a folder up."
    assert list(tasks["run_backup"]["parameters"]["properties"]) == ["path", "compress"]


# -- resources and prompts -----------------------------------------------------------------------------------------


async def test_resources_can_be_found_and_read(caller: Caller) -> None:
    listed = [str(one.uri) for one in (await caller.client.list_resources()).resources]
    skills = [f"skill://{name}/SKILL.md" for name in ("plan", "diagnose", "heartbeat")]
    assert listed == [*skills, "cron://examples", "timezones://valid", "limits://mine"]
    templates = [one.uri_template for one in (await caller.client.list_resource_templates()).resource_templates]
    assert templates == ["schedules://{topic}", "job://{job_id}"]
    assert "| `0 9 * * *` | every day at 09:00 |" in (await resource(caller, "cron://examples")).text
    zones = await resource(caller, "timezones://valid")
    assert zones.mime_type == "application/json"
    assert {"UTC", "Europe/Berlin", "Asia/Kolkata"} <= set(orjson.loads(zones.text))
    assert "Asia/Calcutta" not in orjson.loads(zones.text)


async def test_a_topic_and_a_job_as_resources(caller: Caller) -> None:
    cron: Answer = {"cron": "0 9 * * *", "timezone": "UTC"}
    made = await caller.ask("schedule_cron_notification", message="m", notification_topic="ann-phone", **cron)
    shown = orjson.loads((await resource(caller, "schedules://ann-phone")).text)
    assert (shown["notification_topic"], shown["count"]) == ("ann-phone", 1)
    assert shown["schedules"] == (await caller.ask("list_scheduled_notifications"))["schedules"]
    assert orjson.loads((await resource(caller, "schedules://nobody")).text)["count"] == 0
    job = orjson.loads((await resource(caller, f"job://{made['schedule_id']}")).text)
    assert job == await caller.ask("job_status", job_id=made["schedule_id"])


async def test_an_unknown_job_is_no_resource(caller: Caller) -> None:
    with pytest.raises(MCPError, match="Job not found: job_999999_1"):
        await caller.client.read_resource("job://job_999999_1")


async def test_prompts_for_people_to_pick(caller: Caller) -> None:
    prompts = (await caller.client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == ["plan_my_week", "why_did_it_not_run"]
    [message] = (await caller.client.get_prompt("why_did_it_not_run", {"job": "nightly"})).messages
    assert isinstance(message.content, TextContent)
    assert '"nightly"' in message.content.text
    assert "list_runs" in message.content.text
    [plan] = (await caller.client.get_prompt("plan_my_week")).messages
    assert isinstance(plan.content, TextContent)
    assert plan.content.text.startswith("Help me plan the coming week")


# -- the server itself ---------------------------------------------------------------------------------------------


async def test_it_says_who_it_is(caller: Caller, line: str) -> None:
    client = caller.client
    assert client.protocol_version == line.split()[1]
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.title) == ("cronty", "Cronty")
    assert "Call read_inbox when a conversation begins." in (client.instructions or "")


async def test_an_unknown_tool_is_told_the_known_ones(caller: Caller) -> None:
    said = await caller.refused("remind_me")
    assert said.startswith("Unknown tool: remind_me. Known tools: schedule_job, list_jobs, ")


async def test_a_narrowed_server_offers_less_and_leaves_in_good_order(town: Town, tmp_path: Path) -> None:
    before = await town.count("select count(*) from cronty.workers")
    async with speaking("auto", town.environment, tmp_path / "log", ("--tools", "agenda")) as caller:
        offered = [
            "schedule",
            "schedule_list",
            "schedule_edit",
            "schedule_cancel",
            *("preview_schedule", "get_current_time", "set_zone"),
        ]
        assert list(await caller.tools()) == offered
        assert (await caller.ask("get_current_time"))["timezone"] == "UTC"
        during = await town.count("select count(*) from cronty.workers")
    assert during == before + 1
    assert await town.count("select count(*) from cronty.workers") == before
