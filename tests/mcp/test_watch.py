"""What is watched is looked at for as long as anyone watches it, whatever fails meanwhile."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.mcp import watch
from cronty.mcp.context import ToolContext
from cronty.mcp.watch import Watch
from tests.conftest import Hands, add
from tests.patience import PATIENCE


@pytest.fixture
def watching(cronty: Cronty, worker: Hands, monkeypatch: pytest.MonkeyPatch) -> Watch:
    assert worker.engine.worker
    monkeypatch.setattr(watch, "POLL_EVERY", 0.01)
    return Watch(ToolContext(cronty, lambda: local_caller("ann")))


@asynccontextmanager
async def watched(watching: Watch, *uris: str) -> AsyncGenerator[None]:
    """As long as a client listens for these."""
    listens, leaves = asyncio.Event(), asyncio.Event()

    async def listen(_: object) -> None:
        listens.set()
        await leaves.wait()

    asked = SimpleNamespace(method="subscriptions/listen", params={"notifications": {"resourceSubscriptions": uris}})
    task = asyncio.create_task(watching.middleware(cast("Any", asked), listen))
    async with asyncio.timeout(PATIENCE):
        await listens.wait()
        yield
        leaves.set()
        await task


async def test_a_look_that_fails_ends_no_others(
    cronty: Cronty, watching: Watch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [await add(cronty.service.scheduler, task="run_backup", name=name) for name in ("broken", "fine")]
    broken, fine = (f"job://{job.number}" for job in jobs)
    told: asyncio.Queue[ServerEvent] = asyncio.Queue()
    watching.subscribe(told.put_nowait)
    read_job, failed = watch.read_job, asyncio.Event()

    async def fail(desk: ToolContext, job_id: str) -> str:
        if job_id == str(jobs[0].number):
            failed.set()
            raise RuntimeError("cached plan must not change result type")
        return await read_job(desk, job_id)

    async with watched(watching, broken, fine):
        with monkeypatch.context() as patch:
            patch.setattr(watch, "read_job", fail)
            await failed.wait()
            await cronty.service.scheduler.edit(local_caller("ann"), EditJob(str(jobs[1].number), name="renamed"))
            assert await told.get() == ResourceUpdated(uri=fine)
        await cronty.service.scheduler.edit(local_caller("ann"), EditJob(str(jobs[0].number), name="renamed"))
        assert await told.get() == ResourceUpdated(uri=broken)
    assert "cached plan" in caplog.text


async def test_what_nobody_watches_any_more_is_forgotten(cronty: Cronty, watching: Watch) -> None:
    job = await add(cronty.service.scheduler, task="run_backup")
    uri = f"job://{job.number}"
    seen = watching._seen  # pyright: ignore[reportPrivateUsage]
    async with watched(watching, uri):
        async with watched(watching, uri, "job://7", "schedules://phone"):
            assert len(seen) == 3
        assert list(seen) == [("ann", uri)]
    assert not seen
