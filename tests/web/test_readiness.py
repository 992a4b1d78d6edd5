"""`/ready` tells the truth, in time; `/health` asks nobody."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncpg
import httpx2
import pytest

from cronty.app import Cronty
from cronty.asgi import http_app
from tests.middleman import Middleman, through


@pytest.fixture
async def middleman(url: str) -> AsyncGenerator[Middleman]:
    made = Middleman(url)
    await made.start()
    yield made
    await made.stop()


@asynccontextmanager
async def served(cronty: Cronty) -> AsyncGenerator[httpx2.AsyncClient]:
    app = http_app(cronty, ["jobs"], ["test"])
    async with (
        cronty,
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client,
    ):
        yield client


async def not_ready(client: httpx2.AsyncClient) -> str:
    answer = await client.get("/ready")
    assert answer.status_code == 503, answer.text
    assert (await client.get("/health")).status_code == 200
    return answer.json()["reason"]


async def test_a_server_that_hangs_is_told_in_time_and_the_other_one_is_found(
    url: str, middleman: Middleman, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.app.cronty.ANSWER_WITHIN", 0.5)
    async with served(Cronty(through(url, middleman.address, and_itself=True), run_jobs=False)) as client:
        assert (await client.get("/ready")).status_code == 200
        middleman.frozen = True
        async with asyncio.timeout(20):
            assert await not_ready(client) == "PostgreSQL doesn't answer within 0.5 s."
            while (await client.get("/ready")).status_code != 200:  # looking for another server takes a while too
                pass


async def test_a_read_only_server_is_not_ready(url: str, sql: asyncpg.Connection) -> None:
    joint = "&" if "?" in url else "?"
    async with served(Cronty(f"{url}{joint}target_session_attrs=any", run_jobs=False)) as client:
        name = await sql.fetchval("select current_database()")
        await sql.execute(f"alter database {name} set default_transaction_read_only = on")
        try:
            await sql.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'cronty door' and datname = current_database()"
            )
            answers = {await not_ready(client) for _ in range(2)}
            assert "PostgreSQL is read-only." in answers
        finally:
            await sql.execute("set default_transaction_read_only = off")
            await sql.execute(f"alter database {name} reset default_transaction_read_only")


async def test_a_lost_server_is_not_ready(url: str, middleman: Middleman) -> None:
    async with served(Cronty(through(url, middleman.address), run_jobs=False)) as client:
        await middleman.stop()
        assert "can't be reached" in await not_ready(client)
        assert "can't be reached" in await not_ready(client)


async def test_an_engine_that_no_longer_commits_is_not_ready(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cronty = Cronty(url)
    async with served(cronty) as client:
        engine = cronty._engine  # pyright: ignore[reportPrivateUsage]
        assert engine is not None
        with monkeypatch.context() as patched:
            patched.setattr(engine.lease, "beat", asyncio.Event().wait)
            while (await client.get("/ready")).status_code == 200:  # a heartbeat that was under way may still come
                engine._committed -= 25.0  # pyright: ignore[reportPrivateUsage] -- a lease is 30 s; two were missed
            assert "The engine hasn't committed anything for 2" in await not_ready(client)
        await engine._beat()  # pyright: ignore[reportPrivateUsage]
        assert (await client.get("/ready")).status_code == 200
