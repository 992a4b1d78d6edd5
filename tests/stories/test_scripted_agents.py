"""Agents without a model: each makes a mistake that models make, reads the error, and mends the call by it alone.

The script of an agent is a function from the text of the error to the arguments of the second call: whatever it
needs has to stand in that text.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.stories.conftest import Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

type Arguments = dict[str, Any]
type Script = Callable[[Arguments, str], Arguments]


def result_text(message: ModelMessage) -> str:
    """What the model is shown of its call: the answer, or the error it is to mend."""
    assert isinstance(message, ModelRequest)
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            content: Any = part.content
            if isinstance(content, dict) and "error" in content:
                return f"{content['error']}. {content['hint']}"
            return content if isinstance(content, str) else orjson.dumps(content).decode()
    raise AssertionError("no result")


async def play(town: Town, tool: str, first: Arguments, mend: Script) -> tuple[str, Arguments, str]:
    """The first error, the second call, and its answer."""
    seen: list[str] = []
    made: list[Arguments] = []

    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert tool in {one.name for one in info.function_tools}
        if len(messages) > 1:
            seen.append(result_text(messages[-1]))
        if len(seen) == 2:
            return ModelResponse(parts=[TextPart("done")])
        arguments = mend(first, seen[0]) if seen else first
        made.append(arguments)
        return ModelResponse(parts=[ToolCallPart(tool, arguments)])

    agent = Agent(FunctionModel(script), toolsets=[MCPToolset(town.mcp_url, headers=town.bearer)])
    async with agent:
        result = await agent.run("Do it.")
    assert result.output == "done"
    assert made[1] != first
    return seen[0], made[1], seen[1]


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, f"{pattern} is not in: {text}"
    return match[1]


def valid_cron(first: Arguments, error: str) -> Arguments:
    """The example in the error."""
    return {**first, "cron": found(r'Example: "([^"]+)"', error)}


def nearest_zone(first: Arguments, error: str) -> Arguments:
    """The first zone that the error offers."""
    return {**first, "timezone": found(r'[Dd]id you mean "([^"]+)"', error)}


def an_hour_from_now(first: Arguments, error: str) -> Arguments:
    """An hour after the current time that the error quotes."""
    now = datetime.fromisoformat(found(r"it is now (\S+[+-]\d\d:\d\d)", error))
    return {**first, "datetime": (now + timedelta(hours=1)).isoformat()}


def tomorrow(first: Arguments, error: str) -> Arguments:
    """The date that the error offers."""
    return {**first, "date": found(r'"date": "(\d{4}-\d\d-\d\d)"', error)}


def a_registered_task(first: Arguments, error: str) -> Arguments:
    """The registered task that is spelt most like it."""
    names = found(r"Registered tasks: ([a-z_, ]+)\.", error).split(", ")
    return {**first, "task": next(name for name in names if name.startswith(first["task"][:5]))}


def date_and_time_apart(first: Arguments, error: str) -> Arguments:
    """The parameters that the error names, in the zone the user lives in."""
    rest = {key: value for key, value in first.items() if key != "datetime"}
    day, clock = found(r'"date": "([^"]+)"', error), found(r'"time": "([^"]+)"', error)
    return {**rest, "date": day, "time": clock, "timezone": "Europe/Berlin"}


def as_the_error_shows(first: Arguments, error: str) -> Arguments:
    """A configuration of the form that the error shows, with the type it belongs to."""
    config = orjson.loads(found(r"interval (\{[^}]+\})", error))
    rest = {key: value for key, value in first.items() if key not in ("when", "frequency", "trigger_config")}
    return {**rest, "trigger_type": "interval", "trigger_config": config}


def the_parameter_it_means(first: Arguments, error: str) -> Arguments:
    """The name that the error offers for the unknown one."""
    wrong, right = found(r"Unknown parameter: (\w+)\.", error), found(r"Did you mean (\w+)\?", error)
    return {right if key == wrong else key: value for key, value in first.items()}


REMINDER: Arguments = {"message": "Stand-up", "notification_topic": "ann-phone"}
JOB: Arguments = {"name": "nightly", "task": "run_backup"}
YESTERDAY = (datetime.now(UTC) - timedelta(days=1)).replace(microsecond=0).isoformat()


@pytest.mark.parametrize(
    ("tool", "first", "mend"),
    [
        pytest.param(
            "schedule_cron_notification",
            {**REMINDER, "cron": "0 9 * *", "timezone": "Europe/Berlin"},
            valid_cron,
            id="a wrong cron",
        ),
        pytest.param(
            "schedule_cron_notification",
            {**REMINDER, "cron": "0 9 * * *", "timezone": "Berlin"},
            nearest_zone,
            id="an unknown zone",
        ),
        pytest.param(
            "schedule_cron_notification",
            {**REMINDER, "cron": "0 9 * * *", "timezone": "PST"},
            nearest_zone,
            id="an abbreviation for a zone",
        ),
        pytest.param("schedule_job", {**JOB, "hours": 1, "timezone": "new york"}, nearest_zone, id="a city for a zone"),
        pytest.param(
            "schedule_notification", {**REMINDER, "datetime": YESTERDAY}, an_hour_from_now, id="a past datetime"
        ),
        pytest.param(
            "schedule_notification",
            {**REMINDER, "time": "00:00", "timezone": "UTC"},
            tomorrow,
            id="a time of day that has passed",
        ),
        pytest.param("schedule_job", {**JOB, "task": "run_bakup", "hours": 1}, a_registered_task, id="an unknown task"),
        pytest.param(
            "schedule_notification",
            {**REMINDER, "datetime": "2031-01-31T09:00:00"},
            date_and_time_apart,
            id="a naive datetime",
        ),
        pytest.param(
            "schedule_job",
            {**JOB, "trigger_config": {"frequency": "hourly"}},
            as_the_error_shows,
            id="no known trigger",
        ),
        pytest.param(
            "schedule_job",
            {**JOB, "trigger_type": "interval", "trigger_config": {"hours": 1}, "maxRuns": 3},
            the_parameter_it_means,
            id="a misspelt parameter",
        ),
    ],
)
async def test_an_agent_mends_its_call_by_the_error_alone(
    empty_town: Town, tool: str, first: Arguments, mend: Script
) -> None:
    error, second, answer = await play(empty_town, tool, first, mend)
    assert "fault" not in error
    made = orjson.loads(answer)
    assert made.get("success") is True or made.get("status") == "pending", (error, second, answer)
    total = await empty_town.clerk.list_jobs()
    assert total.total == 1  # the first call made nothing


async def test_flat_trigger_config_needs_no_second_call(empty_town: Town) -> None:
    """What a model sends when it overlooks that `trigger_config` is an object is understood as it is."""
    flat: Arguments = {**JOB, "trigger_type": "interval", "hours": "1", "max_runs": "24"}

    def script(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("schedule_job", flat)])
        return ModelResponse(parts=[TextPart(result_text(messages[-1]))])

    agent = Agent(FunctionModel(script), toolsets=[MCPToolset(empty_town.mcp_url, headers=empty_town.bearer)])
    async with agent:
        made = orjson.loads((await agent.run("Back up every hour.")).output)
    assert (made["status"], made["schedule"]) == ("pending", "Every hour")
