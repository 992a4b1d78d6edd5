"""An agenda for a week: a conversation agent and a heartbeat agent share one agenda.

Both are programs that use nothing but the tools, through a real MCP client. The clock is moved a quarter of an hour at
a time over a week in which clocks change; a machine sleeps, an agent dies. Nothing is said twice, nothing is missed,
and nobody is woken at night.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import asyncpg
import pytest
from mcp import Client
from mcp.types import Implementation

from cronty import Cronty
from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from tests.conftest import HandClock, Hands, hands_of

BERLIN = ZoneInfo("Europe/Berlin")
ZONE = {"timezone": "Europe/Berlin"}
QUARTER = timedelta(minutes=15)


def local(day: int, hour: int, minute: int = 0) -> datetime:
    """A moment of March 2027; on the 28th clocks change."""
    return datetime(2027, 3, day, hour, minute, tzinfo=BERLIN).astimezone(UTC)


FIRST, LAST = local(24, 7), local(31, 7)
ASLEEP = (local(27, 12, 10), local(27, 17, 50))
DEAD = (local(26, 10), local(26, 10, 45))
MAIL = {
    f"mail {number}": FIRST + timedelta(minutes=13 + 97 * number)  # by day and by night
    for number in range(int((LAST - FIRST) / timedelta(minutes=97)) - 6)
}


@dataclass
class Program:
    """An agent: a client, what it has said so far and when."""

    client: Client
    name: str
    clock: HandClock
    said: list[tuple[datetime, str]] = field(default_factory=list[tuple[datetime, str]])

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result
        assert result.structured_content is not None
        assert "error" not in result.structured_content, result
        return result.structured_content

    async def plan(self, at: str, prompt: str, agent: str) -> int:
        return (await self.call("schedule", at=at, prompt=prompt, agent=agent, **ZONE))["task"]["id"]

    async def inbox(self) -> list[dict[str, Any]]:
        return (await self.call("read_inbox", agent=self.name, limit=50))["items"]

    async def settle(self, item: dict[str, Any], **outcome: str) -> None:
        answer = await self.call("acknowledge_inbox", receipts=[item["receipt"]], **outcome)
        assert answer["acknowledged"] == [item["receipt"]]

    def say(self, text: str) -> None:
        self.said.append((self.clock(), text))


class Heartbeat(Program):
    """Looks at the mail whenever its heart beats, and does what the agenda has for it."""

    snoozed = False

    async def begin(self) -> int:
        return await self.plan("every 30 minutes between 8:00 and 22:00", "Heartbeat: look at the mail.", self.name)

    async def wake(self) -> None:
        if DEAD[0] < self.clock() < DEAD[1]:
            return
        items = await self.inbox()
        if self.clock() == DEAD[0]:
            return  # it dies with its inbox in its hands
        for item in items:
            if item["prompt"].startswith("Heartbeat"):
                await self.beat(item)
            elif item["prompt"] == "Ask about lunch" and not self.snoozed:
                self.snoozed = True
                await self.settle(item, outcome="snooze", snooze_for="1h")
            else:
                self.say(item["prompt"])
                await self.settle(item, report="said")

    async def beat(self, item: dict[str, Any]) -> None:
        until = datetime.fromisoformat(item["scheduled_for"])
        since = datetime.fromisoformat(item["previous_slot"]) if item["previous_slot"] else FIRST
        news = [name for name, came in MAIL.items() if since < came <= until]
        for name in news:
            self.say(name)
            if name == "mail 20":
                await self.plan("in 2 hours", "Has mail 20 been answered?", "conversation")
            if name == "mail 30":
                await self.plan("in 12 hours", "Ask again about mail 30", self.name)
        if news:
            await self.settle(item, report=", ".join(news))
        else:
            await self.settle(item, outcome="quiet")


class Conversation(Program):
    """Speaks with its user at certain moments, and looks into its inbox whenever it does."""

    async def talk(self) -> None:
        for item in await self.inbox():
            self.say(item["prompt"])
            assert item["provenance"]["client"]["name"] in ("heartbeat", "conversation")
            await self.settle(item)
        match self.clock():
            case moment if moment == local(24, 9):
                await self.plan("tomorrow at 14:00", "Leave for the dentist", "heartbeat")
                self.report = await self.plan("Friday at 17:00", "Sum up the week", "conversation")
                self.never = await self.plan("Friday at 11:00", "Never mind", "heartbeat")
                await self.plan("2027-03-25 11:00", "Ask about lunch", "heartbeat")
            case moment if moment == local(25, 18):
                listed = (await self.call("schedule_list"))["tasks"]
                assert {"Never mind", "Sum up the week"} <= {task["prompt"] for task in listed}
                await self.call("schedule_cancel", id=self.never)
                await self.call("schedule_edit", id=self.report, at="2027-03-27 10:00", prompt="Sum up a long week")
            case moment if moment == local(27, 20):
                await self.plan("tomorrow at 9:00", "Clocks have changed", "heartbeat")
            case _:
                pass


TALKS = {local(day, hour) for day, hour in ((24, 9), (25, 18), (26, 9), (27, 11), (27, 20), (29, 9), (30, 20))}


@asynccontextmanager
async def program[P: Program](kind: type[P], name: str, backend: Cronty, clock: HandClock) -> AsyncGenerator[P]:
    server = CrontyServer(ToolContext(backend, lambda: local_caller("ann")))
    async with Client(server, client_info=Implementation(name=name, version="1.0")) as client:
        yield kind(client, name, clock)


@pytest.fixture
def clock() -> HandClock:
    return HandClock(FIRST)


async def live(clock: HandClock, hands: Hands, heartbeat: Heartbeat, conversation: Conversation) -> None:
    while clock() < LAST:
        clock.advance(seconds=QUARTER.total_seconds())
        if ASLEEP[0] < clock() < ASLEEP[1]:
            continue
        await hands.all()
        await heartbeat.wake()
        if clock() in TALKS:
            await conversation.talk()


async def test_a_week_of_two_agents(url: str, clock: HandClock, sql: asyncpg.Connection) -> None:
    async with (
        Cronty(url, owner="ann", clock=clock, run_jobs=False) as backend,
        hands_of(url, clock, Registry()) as hands,
        program(Heartbeat, "heartbeat", backend, clock) as heartbeat,
        program(Conversation, "conversation", backend, clock) as conversation,
    ):
        job = await heartbeat.begin()
        await live(clock, hands, heartbeat, conversation)

    spoken = [text for _, text in heartbeat.said]
    assert len(spoken) == len(set(spoken)), "something was said twice"
    reminders = {"Leave for the dentist", "Ask about lunch", "Clocks have changed", "Ask again about mail 30"}
    summaries = {text for text in spoken if text.startswith("Tell your user: Nothing was running. From Sat 27 Mar ")}
    assert len(summaries) == 1, "an absence is told once"
    assert set(spoken) - summaries == MAIL.keys() | reminders, "something was missed"
    assert [text for _, text in conversation.said] == ["Has mail 20 been answered?", "Sum up a long week"]

    when = {text: moment for moment, text in heartbeat.said}
    for moment, text in heartbeat.said:
        assert text in reminders | summaries or moment >= MAIL[text], "said before it had come"
        assert time(8) <= moment.astimezone(BERLIN).time() <= time(22), f"{text} was said at night"
    assert when["Leave for the dentist"] == local(25, 14)
    assert when["Ask about lunch"] == local(25, 12)
    assert when["Clocks have changed"] == local(28, 9) == datetime(2027, 3, 28, 7, tzinfo=UTC)
    for text, came in MAIL.items():
        assert when[text] - came <= timedelta(hours=11), "the night is the longest it may wait"

    verdicts = await sql.fetch(
        "select scheduled_for, state::text, attempt, slots, reason, result::text from cronty.runs"
        " where job_id = (select id from cronty.jobs where number = $1) order by scheduled_for", job,
    )  # fmt: skip
    told = {row["scheduled_for"]: row for row in verdicts}
    assert (told[local(26, 10)]["state"], told[local(26, 10)]["attempt"]) == ("done", 2)
    skipped = [row for row in verdicts if row["state"] == "skipped"]
    assert [row["scheduled_for"] for row in skipped] == [local(26, 10, 30)]
    assert "ended" in skipped[0]["reason"]
    [asleep] = [row for row in verdicts if row["state"] == "coalesced"]
    assert (asleep["scheduled_for"], asleep["slots"]) == (local(27, 12, 30), 11)
    assert told[local(27, 18)]["state"] == "done"
    assert sum(row["result"] == '{"quiet": true}' for row in verdicts) > 50
    assert sum(row["slots"] for row in verdicts) == 7 * 28
    assert await sql.fetch("select * from cronty.slots_unaccounted where why not like 'due%'") == []
