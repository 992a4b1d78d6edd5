"""A job made by a run knows its parent, however the run came to make it; and agents can read their limits."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from mcp import Client
from mcp.types import TextResourceContents

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.jobs.run import message_id, run_id
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from cronty.settings import BadSetting
from tests.patience import PATIENCE


async def child(sql: asyncpg.Connection, name: str) -> dict[str, object]:
    async with asyncio.timeout(PATIENCE):
        while (text := await sql.fetchval("select origin::text from cronty.jobs where name = $1", name)) is None:
            await asyncio.sleep(0.02)
    return json.loads(text)


@pytest.mark.parametrize("kind", ["a coroutine", "a plain function"])
async def test_a_task_that_schedules_is_the_parent(url: str, sql: asyncpg.Connection, kind: str) -> None:
    cronty = Cronty(url)
    loop = asyncio.get_running_loop()

    async def follow_up() -> None:
        await cronty.schedule_job("child", "webhook", "interval", {"hours": 1}, kwargs={"url": "https://example.org"})

    def plain() -> None:
        asyncio.run_coroutine_threadsafe(follow_up(), loop).result(20)

    cronty.registry.add(follow_up if kind == "a coroutine" else plain, "parent")
    async with cronty:
        made = await cronty.schedule_job("parent", "parent", "interval", {"hours": 1})
        run = await cronty.run_job_now(made.job_id)
        assert await child(sql, "child") == {"surface": "python", "run_id": run.run_id, "depth": 1}


async def test_a_server_that_an_agents_program_has_started_makes_the_runs_children(
    url: str, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        await cronty.schedule_prompt(datetime.now(UTC) + timedelta(days=1), "Look")
    job_id = await sql.fetchval("select id from cronty.jobs")
    slot = datetime(2027, 1, 1, tzinfo=UTC)
    monkeypatch.setenv("CRONTY_RUN", message_id(job_id, slot))
    async with Cronty(url, run_jobs=False) as cronty:
        server = CrontyServer(ToolContext(cronty, lambda: local_caller(cronty.owner)))
        async with Client(server) as client:
            await client.call_tool("schedule", {"at": "in 2 days", "prompt": "Again"})
    origin = await child(sql, "Again")
    assert (origin["surface"], origin["run_id"], origin["depth"]) == ("mcp", run_id(1, slot), 1)


async def test_an_agent_reads_its_limits_and_what_it_has_used(url: str) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        await cronty.service.scheduler.allowance.set(local_caller(cronty.owner), {"jobs": 7})
        await cronty.schedule_prompt(datetime.now(UTC) + timedelta(days=1), "Look")
        async with Client(CrontyServer(ToolContext(cronty, lambda: local_caller(cronty.owner)))) as client:
            [content] = (await client.read_resource("limits://mine")).contents
        assert isinstance(content, TextResourceContents)
        found = json.loads(content.text)
        assert (found["limits"]["jobs"], found["limits"]["depth"], found["used"]["jobs"]) == (7, 10, 1)


def test_limits_that_make_no_sense_are_said_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {'{"job": 1}': "Unknown limit", "[]": "must be an object", "5": "must be an object", "many": "unexpected"}
    for given, why in wrong.items():
        monkeypatch.setenv("CRONTY_LIMITS", given)
        with pytest.raises(BadSetting, match=f"CRONTY_LIMITS.*{why}"):
            Cronty("postgresql://localhost/none")
