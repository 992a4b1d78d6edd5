"""Agents that the operator has registered are woken by a real worker, and every client leaves its name."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client
from mcp.types import Implementation
from standardwebhooks import Webhook

from cronty import Cronty
from cronty.actions.signatures import secrets_of
from cronty.contract.answers import JobSummary, to_json
from cronty.contract.caller import local_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from cronty.store.sealing import new_key, read_keys
from examples import heartbeat
from tests.actions.servers import answer, plain
from tests.agents.stage import Stage
from tests.patience import PATIENCE


async def until[T](look: Callable[[], Awaitable[T]], good: Callable[[T], bool]) -> T:
    async with asyncio.timeout(PATIENCE):
        while not good(seen := await look()):
            await asyncio.sleep(0.02)
    return seen


@asynccontextmanager
async def opened(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path, agents: str) -> AsyncGenerator[Cronty]:
    (folder / "agents.toml").write_text(agents, encoding="utf-8")
    (folder / "agents.toml").chmod(0o600)
    monkeypatch.setenv("CRONTY_AGENTS_FILE", str(folder / "agents.toml"))
    async with Cronty(url) as cronty:
        yield cronty


async def wake(cronty: Cronty, agent: str, **kwargs: object) -> str:
    """Schedule a prompt for a distant day and run it now; answers with the job's id."""
    given = {"prompt": "Look at my pull requests.", "agent": agent, **kwargs}
    job = await cronty.schedule_job("review", "prompt", "interval", {"days": 3000}, kwargs=given)
    assert (await cronty.run_job_now(job.job_id)).run_id
    return job.job_id


async def run_of(cronty: Cronty, job_id: str, *verdicts: str) -> dict[str, Any]:
    async def look() -> dict[str, Any]:
        return to_json((await cronty.list_runs(job_id)).runs[0])

    return await until(look, lambda run: run["verdict"] in verdicts)


async def test_a_program_is_woken_with_the_envelope_and_its_answer_is_the_result(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage: Stage
) -> None:
    async with opened(url, monkeypatch, tmp_path, f"[agents.helper]\n{stage.agent('echo')}") as cronty:
        run = await run_of(cronty, await wake(cronty, "helper", data={"repo": "x"}), "done", "failed")
        assert run["verdict"] == "done", run
        for part in (
            "Look at my pull requests.",
            '"repo": "x"',
            "asked for at once",
            "owner: local",
            "surface: python",
        ):
            assert part in run["result"]


async def test_cancelling_the_job_ends_the_program(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage: Stage
) -> None:
    note = stage.folder / "note"
    async with opened(url, monkeypatch, tmp_path, f"[agents.helper]\n{stage.agent('fork', str(note))}") as cronty:
        job_id = await wake(cronty, "helper")

        async def written() -> bool:
            return note.exists()

        await until(written, bool)
        await cronty.cancel_job(job_id)
        assert (await run_of(cronty, job_id, "cancelled"))["verdict"] == "cancelled"

        async def living() -> list[int]:
            """By their command line: they may have numbers of their own."""
            named = psutil.process_iter(["cmdline", "status"])
            found = [one for one in named if str(note) in (one.info["cmdline"] or ())]
            return [one.pid for one in found if one.info["status"] != psutil.STATUS_ZOMBIE]

        await until(living, lambda alive: not alive)


async def test_an_agent_behind_a_webhook_gets_the_envelope_signed(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CRONTY_SECRET_KEY", key := new_key())
    async with plain(answer(202)) as server:
        monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", server.allowed)
        agents = f'[agents.ops]\ndeliver = "webhook"\nurl = "{server.url}/wake"\n'
        async with opened(url, monkeypatch, tmp_path, agents) as cronty:
            run = await run_of(cronty, await wake(cronty, "ops"), "done", "failed")
            assert run["verdict"] == "done", run
        [received] = server.received
        payload = json.loads(received.body)["data"]["payload"]
        assert (payload["prompt"], payload["agent"]) == ("Look at my pull requests.", "ops")
        assert payload["run_id"] == run["run_id"]
        assert received.headers["webhook-id"].startswith("msg_")
        assert payload["provenance"]["surface"] == "python"
        [secret] = secrets_of(read_keys(key), "wake", "ops")
        assert Webhook(secret).verify(received.body, received.headers)["data"]["owner"] == "local"
        assert "receipt" not in payload, "its answer settles it"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_leaves_its_name_with_the_prompt_and_an_agent_may_stay_quiet(url: str, mode: str) -> None:
    async with Cronty(url) as cronty:
        server = CrontyServer(ToolContext(cronty, lambda: local_caller(cronty.owner)))
        info = Implementation(name="claude\ncode" + "!" * 200, version="2.1")
        async with Client(server, client_info=info, mode=mode) as client:
            made = await client.call_tool("schedule", {"at": "in 5 days", "prompt": "Look", "agent": "me"})
            assert made.structured_content is not None
            job_id = str(made.structured_content["task"]["id"])
            await client.call_tool("run_job_now", {"job_id": job_id})
            read = await client.call_tool("read_inbox", {"agent": "me"})
            assert read.structured_content is not None
            [item] = read.structured_content["items"]
            provenance = item["provenance"]
            assert (provenance["surface"], provenance["client"]["version"]) == ("mcp", "2.1")
            assert provenance["client"]["name"] == ("claude code" + "!" * 200)[:100]
            assert {"receipt", "lease_until", "made_at", "previous_slot", "why"} <= item.keys()
            quiet = {"receipts": [item["receipt"]], "outcome": "quiet", "report": "nothing new"}
            assert (await client.call_tool("acknowledge_inbox", quiet)).structured_content == {
                "acknowledged": [item["receipt"]],
                "refused": [],
            }
        run = await run_of(cronty, job_id, "done")
        assert run["result"] == {"quiet": True, "report": "nothing new"}


async def test_the_heartbeat_agent_we_show_people_works(url: str) -> None:
    async with Cronty(url) as cronty:
        beating = asyncio.create_task(
            heartbeat.main(CrontyServer(ToolContext(cronty, lambda: local_caller(cronty.owner))))
        )
        try:

            async def jobs() -> list[JobSummary]:
                return (await cronty.list_jobs()).jobs

            [job] = await until(jobs, lambda found: len(found) == 1)
            await cronty.run_job_now(job.job_id)
            assert (await run_of(cronty, job.job_id, "done"))["result"] == {"quiet": True}
            item = await wake(cronty, "heartbeat")
            assert (await run_of(cronty, item, "done"))["result"] == {"report": "did: Look at my pull requests."}
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
