"""Agents that schedule themselves without end are held within a minute, and their owner is told once."""

from collections.abc import Callable, Mapping
from datetime import timedelta

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob, TriggerType
from cronty.contract.result import Err, Ok
from cronty.jobs.envelope import Envelope
from cronty.jobs.outcome import Done
from cronty.scheduler import Scheduler
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from tests.conftest import HandClock, Hands

MCP = local_caller("ann", "mcp")


def again(kind: TriggerType, config: Mapping[str, object]) -> ScheduleJob:
    return ScheduleJob("again", "prompt", kind, config, kwargs={"prompt": "Again!", "agent": "me"})


class Agent:
    """Reads its inbox every second, and plans what `plans` says for every prompt it finds."""

    def __init__(self, database: Database, door: Scheduler, hands: Hands, clock: HandClock, plans: int) -> None:
        self._inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
        self._door = door
        self._hands = hands
        self._clock = clock
        self._plans = plans
        self.wakes: list[Envelope] = []
        self.refusals: list[Err] = []

    async def plan(self, seconds: float = 1) -> None:
        at = self._clock() + timedelta(seconds=seconds)
        result = await self._door.schedule(MCP, again("once", {"run_at": at}))
        if isinstance(result, Err):
            self.refusals.append(result)

    async def live(self, seconds: int) -> None:
        for _ in range(seconds):
            self._clock.advance(seconds=1)
            self._hands.engine.firing.low.forget()
            await self._hands.fire()
            read = await self._inbox.read(local_caller("ann"), "me", 100)
            assert isinstance(read, Ok)
            for item in read.value:
                self.wakes.append(item)
                for _ in range(self._plans):
                    await self.plan()
            if read.value:
                await self._inbox.settle(local_caller("ann"), [item.receipt for item in read.value], Done())


@pytest.fixture
def agent(database: Database, door: Scheduler, hands: Hands, clock: HandClock) -> Callable[[int], Agent]:
    return lambda plans: Agent(database, door, hands, clock, plans)


async def told(sql: asyncpg.Connection) -> list[str]:
    held = "select after ->> 'reason' from cronty.audit_unsealed where what = 'held by a limit' order by id"
    return [row[0] for row in await sql.fetch(held)]


async def pending(sql: asyncpg.Connection) -> int:
    return await sql.fetchval("select count(*) from cronty.due where next_at is not null")


async def test_an_agent_that_wants_to_be_woken_every_second_is_refused(
    door: Scheduler, sql: asyncpg.Connection
) -> None:
    await door.allowance.set(local_caller("ann"), {"alert": "ann-phone"})
    for _ in range(60):
        result = await door.schedule(MCP, again("interval", {"seconds": 1}))
        assert isinstance(result, Err)
        assert (result.code, "60 seconds" in result.hint) == ("over_limit", True)
    assert len(await told(sql)) == 1
    assert await sql.fetchval("select count(*) from cronty.jobs") == 0
    assert await sql.fetchval("select count(*) from cronty.alerts") == 1, "the notification to Ann"


async def test_an_agent_whose_every_wake_plans_the_next_comes_to_an_end(
    agent: Callable[[int], Agent], sql: asyncpg.Connection
) -> None:
    runaway = agent(1)
    await runaway.plan()
    await runaway.live(60)
    assert len(runaway.wakes) == 11, "the first, and ten that were made by the one before"
    assert [item.provenance["run_id"] for item in runaway.wakes[1:]] == [item.run_id for item in runaway.wakes[:-1]]
    assert "11 deep" in runaway.refusals[0].message
    assert await pending(sql) == 0
    assert len(await told(sql)) == 1


async def test_an_agent_whose_every_wake_plans_two_more_is_held(
    agent: Callable[[int], Agent], sql: asyncpg.Connection, clock: HandClock
) -> None:
    runaway = agent(2)
    await runaway.plan()
    await runaway.live(60)
    assert len(runaway.wakes) == 120
    assert await pending(sql) == 0, "what was planned beyond was skipped, and plans nothing"
    assert await told(sql) == [
        "Slots are skipped until the hour is over: over the limit of 120 wakes an hour for agent me."
    ]
    clock.advance(hours=1)
    await runaway.live(5)
    assert len(runaway.wakes) == 120, "nothing is left of it in the next hour"
    await runaway.plan()
    await runaway.live(1)
    assert len(runaway.wakes) == 121, "and a person's next prompt comes"
