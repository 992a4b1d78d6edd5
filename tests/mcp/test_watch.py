"""What is watched is looked at for as long as anyone watches it, whatever fails meanwhile."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp.server.subscriptions import ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError

from cronty import Cronty
from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Ok, value_of
from cronty.mcp import watch
from cronty.mcp.context import ToolContext
from cronty.mcp.watch import Watch
from cronty.scheduler.listeners import MAX_LISTENERS
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
    begun = asyncio.create_task(listens.wait())
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait({task, begun}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():  # it was refused
            begun.cancel()
            await task
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
    async with watched(watching, uri):
        seen = watching.watched["ann"].seen
        async with watched(watching, uri, "job://7", "schedules://phone"):
            assert len(seen) == 3
        assert list(seen) == [uri]
    assert not seen
    assert not watching.watched


async def test_listening_needs_the_scope_read_and_a_place(
    cronty: Cronty, watching: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.scheduler.listeners.MAX_LISTENERS", 1)
    blind = Watch(ToolContext(cronty, lambda: Caller("ann", frozenset({"schedule"}))))
    with pytest.raises(MCPError, match="scope read"):
        async with watched(blind, "job://1"):
            pass
    async with watched(watching, "job://1"):
        with pytest.raises(MCPError, match="1 connections"):
            async with watched(watching, "job://1"):
                pass
    async with watched(watching, "job://1"):
        pass


async def test_a_notice_does_not_wait_for_another_owner_who_watches_as_much_as_may_be(
    cronty: Cronty, watching: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty clients with a hundred resources each, as far as they are let in, and none of ann's looks ever ends."""
    job = await add(cronty.service.scheduler, task="run_backup", owner="bob")
    bobs = Watch(ToolContext(cronty, lambda: local_caller("bob")))
    bobs.watched = watching.watched  # one server, two owners
    told: asyncio.Queue[ServerEvent] = asyncio.Queue()
    bobs.subscribe(told.put_nowait)
    let_in = 0
    async with AsyncExitStack() as stack:
        for client in range(60):
            uris = [f"job://{client * 100 + number}" for number in range(100)]
            try:
                await stack.enter_async_context(watched(watching, *uris))
                let_in += 1
            except MCPError:
                pass
        assert let_in == 1, "an owner watches a hundred resources"
        for _ in range(60):
            try:
                await stack.enter_async_context(watched(watching, "job://1"))
                let_in += 1
            except MCPError:
                pass
        assert let_in == MAX_LISTENERS
        read_job, stuck, leave = watch.read_job, asyncio.Event(), asyncio.Event()
        stack.callback(leave.set)

        async def wait_for_ever(context: ToolContext, job_id: str) -> str:
            if context.who().owner == "ann":
                stuck.set()
                await leave.wait()
            return await read_job(context, job_id)

        monkeypatch.setattr(watch, "read_job", wait_for_ever)
        await stuck.wait()
        async with watched(bobs, f"job://{job.number}"):
            await cronty.service.scheduler.edit(local_caller("bob"), EditJob(str(job.number), name="renamed"))
            assert await told.get() == ResourceUpdated(uri=f"job://{job.number}")


async def test_a_client_whose_key_is_revoked_is_told_nothing_more(cronty: Cronty, worker: Hands) -> None:
    assert worker.engine.worker
    made = await cronty.service.identity.add_key(local_caller("ann"), "lost", ["read"])
    assert isinstance(made, Ok)
    caller = value_of(await cronty.service.identity.identify(made.value.text))
    watching, listens = Watch(ToolContext(cronty, lambda: caller)), asyncio.Event()

    async def listen(_: object) -> None:
        listens.set()
        await asyncio.Event().wait()

    asked = SimpleNamespace(
        method="subscriptions/listen", params={"notifications": {"resourceSubscriptions": ["job://1"]}}
    )
    stream = asyncio.create_task(watching.middleware(cast("Any", asked), listen))
    async with asyncio.timeout(PATIENCE):
        await listens.wait()
        await cronty.service.identity.revoke(local_caller("ann"), made.value.number)
        await cronty.service.listeners.step()
        with pytest.raises(MCPError, match="isn't valid any more"):
            await stream
    assert not watching.watched
