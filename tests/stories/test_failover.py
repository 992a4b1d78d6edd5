"""The server that a worker talks to freezes: what ran is recorded, what is due fires by the other server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import asyncpg
import pytest

from cronty import Cronty, current_run
from cronty.contract.result import CrontyError
from cronty.store import connecting
from cronty.store import database as database_module
from tests.middleman import Middleman, through


@pytest.fixture
async def middleman(url: str) -> AsyncGenerator[Middleman]:
    made = Middleman(url)
    await made.start()
    yield made
    await made.stop()


async def test_a_frozen_server_costs_time_and_nothing_else(
    url: str, middleman: Middleman, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOT_LIMIT", "DOOR_LIMIT", "GRACE"):
        monkeypatch.setattr(database_module, name, 1.0)
    monkeypatch.setattr(connecting, "EACH", 1.0)
    cronty = Cronty(through(url, middleman.address, and_itself=True))
    started: list[tuple[str, int]] = []
    in_the_middle, go_on, later = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @cronty.task
    async def work(wait: bool) -> str:  # pyright: ignore[reportUnusedFunction]
        started.append((current_run().run_id, current_run().attempt))
        if wait:
            in_the_middle.set()
            await go_on.wait()
        else:
            later.set()
        return "worked"

    async with cronty, asyncio.timeout(90):
        await cronty.schedule_job("first", "work", "words", {"text": "in 1 second"}, [True])
        await in_the_middle.wait()
        middleman.frozen = True
        go_on.set()  # it succeeds while nobody can be told
        made = False
        while not made:
            with suppress(CrontyError):  # the database is away
                await cronty.schedule_job("second", "work", "words", {"text": "in 1 second"}, [False])
                made = True
        await later.wait()
        while await sql.fetchval("select count(*) from cronty.runs where state <> 'done'"):
            await asyncio.sleep(0.05)
    assert middleman.came > 0
    assert [attempt for _, attempt in started] == [1, 1]
    results = await sql.fetch("select state::text, result::text, attempt from cronty.runs")
    assert [tuple(row) for row in results] == [("done", '"worked"', 1)] * 2
