"""The tools as clients see them: names, order, schemas, hints; and that reading changes nothing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import orjson
import pytest
from asyncpg import Connection
from jsonschema import Draft202012Validator
from mcp import Client

from cronty import Cronty, metrics
from cronty.contract.caller import local_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from cronty.mcp.tool import Group
from tests.conftest import TRAIL
from tests.mcp.caller import Caller, held

JOBS = [
    "schedule_job", "list_jobs", "job_status", "edit_job", "change_slot", "run_job_now", "redrive_runs", "list_tasks",
    "cancel_job", "list_runs",
]  # fmt: skip
NOTIFICATIONS = [
    "list_channels",
    *("schedule_notification", "schedule_cron_notification", "list_scheduled_notifications"),
    *("pause_schedule", "resume_schedule", "delete_schedule", "send_push_notification"),
]
AGENDA = ["schedule", "schedule_list", "schedule_edit", "schedule_cancel"]
INBOX = ["read_inbox", "acknowledge_inbox"]
TIME = ["preview_schedule", "get_current_time", "set_zone"]

READ_ONLY = {
    *("list_jobs", "job_status", "list_runs", "list_tasks", "list_scheduled_notifications"),
    *("list_channels", "schedule_list", "preview_schedule", "get_current_time"),
}
DESTRUCTIVE = {"cancel_job", "change_slot", "edit_job", "delete_schedule", "schedule_edit", "schedule_cancel"}
REPEATABLE = {
    *READ_ONLY, *(DESTRUCTIVE - {"change_slot"}), "set_zone", "pause_schedule", "resume_schedule", "acknowledge_inbox"
}  # fmt: skip
OPEN_WORLD = {"run_job_now", "redrive_runs", "send_push_notification"}


def nodes(schema: object) -> Iterator[dict[str, Any]]:
    """Every schema within a schema."""
    if isinstance(schema, list):
        for member in cast("list[object]", schema):
            yield from nodes(member)
    elif isinstance(schema, dict):
        found = cast("dict[str, Any]", schema)
        yield found
        for key, value in found.items():
            yield from nodes(list(value.values()) if key in ("properties", "$defs") else value)


async def test_the_order_is_always_the_same(caller: Caller) -> None:
    assert list(await caller.tools()) == [*JOBS, *NOTIFICATIONS, *AGENDA, *INBOX, *TIME]
    again = await caller.client.list_tools(cache_mode="bypass")
    assert [tool.name for tool in again.tools] == list(await caller.tools())
    assert again.next_cursor is None


async def test_all_four_hints_are_set_on_each_tool(caller: Caller) -> None:
    for name, tool in (await caller.tools()).items():
        assert tool.annotations is not None
        hints = tool.annotations
        assert hints.read_only_hint is (name in READ_ONLY), name
        assert hints.destructive_hint is (name in DESTRUCTIVE), name
        assert hints.idempotent_hint is (name in REPEATABLE), name
        assert hints.open_world_hint is (name in OPEN_WORLD), name
        assert tool.title


async def test_a_description_says_when_to_use_it_with_an_example(caller: Caller) -> None:
    for name, tool in (await caller.tools()).items():
        described = tool.description or ""
        assert 40 < len(described) < 900, name
        assert "\n" not in described
        if tool.input_schema["properties"]:
            assert "Example: {" in described, name
            for parameter in tool.input_schema["properties"].values():
                assert parameter.get("description"), name


async def test_an_example_is_what_the_tool_accepts(caller: Caller) -> None:
    for tool in (await caller.tools()).values():
        if "Example: " in (tool.description or ""):
            example = (tool.description or "").rsplit("Example: ", 1)[1]
            Draft202012Validator(tool.input_schema).validate(orjson.loads(example))  # pyright: ignore[reportUnknownMemberType]


async def test_input_schemas_are_slim_and_plain(caller: Caller) -> None:
    for tool in (await caller.tools()).values():
        schema = tool.input_schema
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        for node in nodes(schema):
            assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & node.keys(), tool.name
            assert not isinstance(node.get("title"), str)
            assert node.get("default", 0) is not None
            assert node.get("type") != "null"


async def test_output_schemas_hold_no_reference_that_cannot_be_followed(caller: Caller) -> None:
    for tool in (await caller.tools()).values():
        assert tool.output_schema is not None
        Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema["type"] == "object"
        for node in nodes(tool.output_schema):
            assert not isinstance(node.get("title"), str)
            if "$ref" in node:
                assert node["$ref"].removeprefix("#/$defs/") in tool.output_schema["$defs"]


async def test_the_whole_list_costs_few_tokens(caller: Caller) -> None:
    listed = await caller.client.list_tools()
    inputs = sum(len(str(tool.input_schema)) + len(tool.description or "") for tool in listed.tools)
    assert inputs < 24_000  # about 6,000 tokens, which every conversation pays
    whole = orjson.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools])
    assert len(whole) < 36_200  # 7,700 tokens (o200k_base)


async def test_a_caller_is_offered_what_its_scopes_allow(cronty: Cronty) -> None:
    for scopes in (frozenset({"read"}), frozenset({"read", "run"}), frozenset({"read", "schedule", "prompts"})):
        server = CrontyServer(ToolContext(cronty, lambda scopes=scopes: replace(local_caller("ann"), scopes=scopes)))
        async with held(Client(server)) as client:
            offered = {tool.name for tool in (await client.list_tools()).tools}
            assert ("schedule_job" in offered) == ("schedule" in scopes)
            assert ("run_job_now" in offered) == ("run" in scopes)
            assert ("read_inbox" in offered) == ("prompts" in scopes)
            assert offered >= READ_ONLY
            refused = await Caller(client).refused("send_push_notification", message="m", notification_topic="t")
            assert ("needs the scope run" in refused) == ("run" not in scopes)


async def test_a_server_that_only_reads_says_so(cronty: Cronty) -> None:
    reader = replace(local_caller("ann"), scopes=frozenset({"read"}))
    async with held(Client(CrontyServer(ToolContext(cronty, lambda: reader), read_only=True))) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == READ_ONLY
        refused = await Caller(client).refused("cancel_job", job_id="1")
        assert refused == "cancel_job changes something, and this server only reads: it was started --read-only."


async def test_a_job_is_called_by_its_name(caller: Caller) -> None:
    await caller.ask("schedule_job", name="Nightly backup", task="run_backup", hours=1, policy={"attempts": 4})
    shown = await caller.ask("job_status", job_id="nightly backup")
    assert (shown["name"], shown["policy"]) == ("Nightly backup", {"attempts": 4})
    near = await caller.ask("job_status", job_id="backup")
    assert near["hint"] == "Did you mean 1 (Nightly backup)? Give its number or its whole name."
    assert [choice["words"] for choice in near["choices"]] == ["1"]
    refused = await caller.ask("cancel_job", job_id="backup")
    assert (refused["cancelled"], "Did you mean 1 (Nightly backup)?" in refused["error"]) == (False, True)
    assert await caller.ask("cancel_job", job_id="Nightly backup") == {"cancelled": True, "job_id": "Nightly backup"}


async def test_the_agendas_tools_ask_for_operations_which_are_counted_and_noted(
    caller: Caller, sql: Connection
) -> None:
    before = sum(metrics.REQUESTS.counts.values())
    await caller.ask("schedule", at="tomorrow at 9:00", prompt="Look")
    await caller.ask("schedule_edit", id=1, prompt="Look again")
    await caller.ask("schedule_cancel", id=1)
    assert sum(metrics.REQUESTS.counts.values()) - before == 3
    noted = await sql.fetch(f"select client ->> 'operation' as operation from {TRAIL} where job_number = 1 order by at")
    assert {row["operation"] for row in noted} == {"schedule_job", "edit_job", "cancel_job"}


async def test_the_agenda_of_a_day_has_what_repeats_into_it(caller: Caller) -> None:
    await caller.say("schedule", at="every day at 7:00", prompt="Read the news.", agent="claude", timezone="UTC")
    said = await caller.say("schedule_list", **{"from": "2031-01-01", "to": "2031-01-01"})
    assert said == "#1  Wed 1 Jan 2031 07:00, UTC  [pending]  Read the news. (At 07:00 every day, UTC, for claude)"
    await caller.ask("pause_schedule", schedule_id="Read the news.")
    assert "[paused]" in await caller.say("schedule_list")
    await caller.say("schedule", at="2031-01-01T09:00Z", every="1 day", prompt="Twice.", timezone="UTC")
    odd = await caller.say("schedule", at="every day at 9:00", every="1 day", prompt="x")
    assert odd.startswith('Error: "every day at 9:00" isn\'t one moment to start from. With every or cron, at is')


async def test_a_recurring_reminder_takes_words(caller: Caller) -> None:
    words = {"notification_topic": "t", "timezone": "Europe/Berlin"}
    made = await caller.ask(
        "schedule_cron_notification", message="m", cron="last friday of the month at 17:00", **words
    )
    assert made["schedule"] == "At 17:00 on the last Friday of the month, Berlin time"
    for cron in ("30 8 * * MON-FRI", "@daily", "0 17 * * 5L", "0 9 * jan-mar mon#1"):
        kept = await caller.ask("schedule_cron_notification", message="m", cron=cron, **words)
        assert kept["cron"] == f"CRON_TZ=Europe/Berlin {cron}"


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (["agenda"], [*AGENDA, *TIME]),
        (["inbox", "jobs"], [*JOBS, *INBOX, *TIME]),
        (["notifications"], [*NOTIFICATIONS, *TIME]),
    ],
)
async def test_groups_narrow_what_is_offered(cronty: Cronty, groups: list[Group], names: list[str]) -> None:
    async with held(Client(CrontyServer(ToolContext(cronty, lambda: local_caller("ann")), groups))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == names
        refused = await Caller(client).refused("nonsense")
        assert refused == f"Unknown tool: nonsense. Known tools: {', '.join(names)}."


TABLES = ["jobs", "due", "runs", "queue", "attempts", "audit", "audit_unsealed", "tasks", "workers"]


async def photograph(sql: Connection) -> dict[str, list[tuple[object, ...]]]:
    return {name: [tuple(row) for row in await sql.fetch(f"select * from cronty.{name} order by 1")] for name in TABLES}


async def test_reading_changes_nothing(caller: Caller, sql: Connection) -> None:
    made = await caller.ask("schedule_job", name="n", task="run_backup", hours=1)
    await caller.say("schedule", at="tomorrow at 9", prompt="look")
    daily: dict[str, object] = {"cron": "0 9 * * *", "timezone": "UTC"}
    await caller.ask("schedule_cron_notification", message="m", notification_topic="t", **daily)
    await caller.ask("run_job_now", job_id=made["job_id"])
    before = await photograph(sql)
    arguments: dict[str, dict[str, object]] = {
        "job_status": {"job_id": made["job_id"]},
        "list_runs": {"job_id": made["job_id"]},
        "preview_schedule": {"schedule": "every day at 9"},
    }
    for name in READ_ONLY:
        await caller.ask(name, **arguments.get(name, {}))
    for uri in ("cron://examples", "timezones://valid", "schedules://t", f"job://{made['job_id']}"):
        await caller.client.read_resource(uri)
    assert await photograph(sql) == before


async def test_without_a_job_only_failed_runs_are_listed(caller: Caller) -> None:
    assert await caller.ask("list_runs", verdict="failed") == {"runs": []}
    assert await caller.ask("list_runs", verdict="missed") == {
        "error": "verdict missed needs a job_id.",
        "hint": "Without a job_id only failed and quarantined runs are listed; list_jobs shows the jobs.",
    }
