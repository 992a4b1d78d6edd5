"""Ten agents without a model, each with nothing but the list of tools and a person's wish: how many calls do they need?

An agent does what the descriptions of the tools say, and believes only what it reads: where a parameter takes a name it
gives the name, otherwise it looks the id up first; what an answer leaves open it asks for. `BEFORE` is what the same
agents needed when every call took an id, answers said neither rule nor arguments, and only schedule_job took words.
`pytest -s` prints the table.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from tests.mcp.caller import Caller, text_of
from tests.stories.conftest import Town, speaking

pytestmark = pytest.mark.asyncio(loop_scope="session")

type Wish = Callable[["Agent"], Awaitable[bool]]
PHONE = {"notification_topic": "ann-phone", "timezone": "Europe/Berlin"}


@dataclass
class Agent:
    """Counts its calls; `tools` is all it knows."""

    caller: Caller
    made: list[str] = field(default_factory=list[str])

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The answer as data."""
        self.made.append(tool)
        result = await self.caller.raw(tool, **arguments)
        return {"error": text_of(result)} if result.is_error else result.structured_content or {}

    async def read(self, tool: str, **arguments: object) -> str:
        """The answer as a client shows it."""
        self.made.append(tool)
        return text_of(await self.caller.raw(tool, **arguments))

    async def says(self, tool: str, parameter: str, word: str) -> bool:
        """Whether the tool's list says this word of a parameter."""
        return word in (await self.caller.tools())[tool].input_schema["properties"][parameter]["description"]

    async def job(self, tool: str, parameter: str, name: str) -> str:
        """What to call a job: its name where the tool takes one, else the id that a list shows."""
        if await self.says(tool, parameter, "name"):
            return name
        listed = await self.call("list_jobs", name=name)
        [job] = [one for one in listed["jobs"] if one["name"] == name]
        return job["job_id"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def own(town: Town, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Caller]:
    """A real stdio client."""
    async with speaking("auto", town.environment, tmp_path_factory.mktemp("wishes") / "log") as caller:
        yield caller


@pytest_asyncio.fixture(loop_scope="session")
async def agent(own: Caller, town: Town) -> AsyncGenerator[Agent]:
    await town.clear()
    caller = own
    await caller.ask("schedule_cron_notification", message="Stand-up", cron="30 8 * * 1-5", **PHONE)
    await caller.ask("schedule_cron_notification", message="Water the plants", cron="0 9 * * 6", **PHONE)
    every_hour = {"task": "run_backup", "trigger_type": "interval", "trigger_config": {"hours": 1}}
    await caller.ask("schedule_job", name="nightly backup", policy={"attempts": 4}, **every_hour)
    await caller.ask("schedule", at="every day at 7:00", prompt="Read the news.", agent="claude")
    yield Agent(caller)


async def shown(agent: Agent, name: str) -> dict[str, Any]:
    """What has become of a job; not the agent's call."""
    listed = await agent.caller.ask("list_jobs", name=name)
    return await agent.caller.ask("job_status", job_id=listed["jobs"][0]["job_id"])


async def pause(agent: Agent) -> bool:
    """Pause my stand-up reminder."""
    await agent.call("pause_schedule", schedule_id=await agent.job("pause_schedule", "schedule_id", "Stand-up"))
    return (await shown(agent, "Stand-up"))["paused"]


async def delete(agent: Agent) -> bool:
    """I don't need the reminder to water the plants any more."""
    whom = await agent.job("delete_schedule", "schedule_id", "Water the plants")
    await agent.call("delete_schedule", schedule_id=whom)
    return (await agent.caller.ask("list_jobs", name="Water"))["total"] == 0


async def why(agent: Agent) -> bool:
    """Why did the nightly backup not run?"""
    found = await agent.call("list_runs", job_id=await agent.job("list_runs", "job_id", "nightly backup"))
    return found["runs"] == []


async def run(agent: Agent) -> bool:
    """Run the nightly backup now."""
    started = await agent.call("run_job_now", job_id=await agent.job("run_job_now", "job_id", "nightly backup"))
    return started["run_id"].startswith("run_")


async def move(agent: Agent) -> bool:
    """From now on the stand-up is at 9:15 on weekdays."""
    rule = {"trigger_type": "words", "trigger_config": {"text": "every weekday at 9:15"}}
    await agent.call("edit_job", job_id=await agent.job("edit_job", "job_id", "Stand-up"), **rule)
    return (await shown(agent, "Stand-up"))["schedule"].startswith("At 09:15 on weekdays")


async def skip(agent: Agent) -> bool:
    """Leave the next stand-up out, just this once."""
    await agent.call("change_slot", job_id=await agent.job("change_slot", "job_id", "Stand-up"))
    return len((await shown(agent, "Stand-up"))["changed_slots"]) == 1


async def what(agent: Agent) -> bool:
    """What does the stand-up reminder say, and where does it go?"""
    found = await agent.call("job_status", job_id=await agent.job("job_status", "job_id", "Stand-up"))
    if "kwargs" in found:
        return found["kwargs"] == {"message": "Stand-up", "topic": "ann-phone"}
    listed = await agent.call("list_scheduled_notifications")
    return ("Stand-up", "ann-phone") in {
        (one["notification_body"], one["notification_topic"]) for one in listed["schedules"]
    }


async def words(agent: Agent) -> bool:
    """Remind me of the invoices on the last Friday of the month at five in the afternoon."""
    said, cron = "last friday of the month at 17:00", "0 17 * * 5L"
    if not await agent.says("schedule_cron_notification", "cron", "words"):
        seen = await agent.call("preview_schedule", schedule=cron, timezone="Europe/Berlin")
        said = cron if "last Friday" in str(seen.get("schedule")) else "0 17 * * FRI#L"
    made = await agent.call("schedule_cron_notification", message="Invoices", cron=said, **PHONE)
    if "error" in made:
        seen = await agent.call("preview_schedule", schedule="last friday of the month at 17:00")
        made = await agent.call(
            "schedule_job", name="Invoices", task="notify", trigger_type="words",
            trigger_config={"text": "last friday of the month at 17:00"}, timezone="Europe/Berlin",
            kwargs={"message": "Invoices", "topic": "ann-phone"},
        )  # fmt: skip
    return "last Friday" in made["schedule"]


async def tell(agent: Agent) -> bool:
    """Have claude look at my pull requests every weekday at 8, and tell me what you have set up."""
    at = {"at": "every weekday at 8:00", "timezone": "Europe/Berlin"}
    said = await agent.read("schedule", prompt="Look at my pull requests.", agent="claude", **at)
    if "weekdays" not in said or "claude" not in said:
        said = await agent.read("schedule_list")
    if "weekdays" not in said:
        found = await agent.call("job_status", job_id=said.rsplit("#", 1)[1].split()[0])
        said = found["schedule"] + " claude"
    return "weekdays" in said and "claude" in said


async def agenda(agent: Agent) -> bool:
    """What is on the agenda for the day after tomorrow?"""
    now = datetime.fromisoformat((await agent.caller.ask("get_current_time"))["utc"])
    day = (now + timedelta(days=2)).date().isoformat()
    said = await agent.read("schedule_list", **{"from": day, "to": day})
    if "news" in said:
        return True
    for job in (await agent.call("list_jobs", task="prompt"))["jobs"]:
        if (await agent.call("job_status", job_id=job["job_id"]))["schedule"].startswith("At 07:00 every day"):
            return True
    return False


BEFORE: dict[Wish, int] = {
    pause: 2, delete: 2, why: 2, run: 2, move: 2, skip: 2, what: 3, words: 2, tell: 3, agenda: 3
}  # fmt: skip


@pytest.mark.parametrize("wish", BEFORE, ids=lambda wish: wish.__name__)
async def test_a_wish_is_one_call(agent: Agent, wish: Wish) -> None:
    assert await wish(agent), agent.made
    print(
        f"\n| {' '.join((wish.__doc__ or '').split())} | {BEFORE[wish]} | {len(agent.made)} ({', '.join(agent.made)}) |"
    )
    assert len(agent.made) == 1 < BEFORE[wish]
