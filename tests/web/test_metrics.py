"""Prometheus and probes: figures for the operator alone, the same however many owners there are, and in time."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncpg
import httpx2
import pytest

from cronty import Cronty
from cronty.cli.startup import probed, set_metrics_port
from cronty.metrics import ALL, OF_FLEET
from tests.conftest import HandClock, Hands
from tests.middleman import Middleman, through
from tests.web.conftest import Keyed

SERIES = re.compile(r"^(cronty_\w+)(?:\{[^}]*\})? [0-9.e+-]+$")


def series(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert [line for line in lines if not SERIES.match(line)] == []
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@asynccontextmanager
async def asked(cronty: Cronty, log: pytest.LogCaptureFixture) -> AsyncGenerator[httpx2.AsyncClient]:
    """Calls the port of this process's own, before the database is opened and after."""
    set_metrics_port(cronty, 0)
    with log.at_level(logging.INFO, "cronty"):
        async with probed(cronty):
            place = re.search(r"http://[\d.:]+", log.text)
            assert place is not None
            async with httpx2.AsyncClient(base_url=place[0]) as client:
                yield client


async def test_metrics_are_for_the_operator_alone(keyed: Keyed) -> None:
    operator, other = await keyed("local"), await keyed("ann")
    weak = await keyed("local", "read")
    answer = await operator.http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert series(answer.text)["cronty_database_up"] == 1
    assert (await other.http.get("/metrics")).status_code == 403
    assert (await weak.http.get("/metrics")).status_code == 403
    assert (await other.http.get("/metrics", headers={"authorization": ""})).status_code == 401
    assert (await operator.http.get("/metrics", headers={"host": "evil.example"})).status_code == 421


async def test_owners_jobs_and_tasks_add_no_series_and_are_not_named(
    cronty: Cronty, keyed: Keyed, worker: Hands, clock: HandClock
) -> None:
    before = set(series(await cronty.metrics()))
    for owner in ("ann", "bob", "zoe"):
        api = await keyed(owner)
        for number in range(3):
            await api.make(name=f"secret {number}", tags=["hush"])
            await api.make(name=f"secret {number}", task="fail")
            await api.make(name="wake", task="prompt", kwargs={"prompt": "hush", "agent": f"agent-{number}"})
    clock.advance(hours=1)
    await worker.all()
    text = await cronty.metrics()
    assert set(series(text)) == before
    for word in ("ann", "bob", "zoe", "secret", "hush", "agent-"):
        assert word not in text


async def test_what_waits_and_what_is_overdue_is_told(cronty: Cronty, keyed: Keyed, clock: HandClock) -> None:
    api = await keyed("ann")
    await api.make()
    waiting = await api.make(name="waits")
    clock.advance(hours=1, seconds=30)
    await api.post(f"/jobs/{waiting['job_id']}/run")
    clock.advance(seconds=10)
    found = series(await cronty.metrics())
    assert found["cronty_fleet_overdue_jobs"] == 2
    assert found["cronty_fleet_oldest_overdue_seconds"] == 40
    assert found['cronty_fleet_queued_runs{kind="task"}'] == 1
    assert found['cronty_fleet_oldest_queued_seconds{kind="task"}'] == 10
    assert found['cronty_fleet_workers{lease="passed"}'] == 1
    assert found['cronty_pool_size{pool="door"}'] == 8


async def test_everything_is_told_by_a_process_with_an_engine(url: str) -> None:
    async with Cronty(url) as cronty:
        text = await cronty.metrics()
    assert {one.name for one in ALL} == set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    assert series(text)["cronty_engine_stuck"] == 0
    assert series(text)['cronty_fleet_workers{lease="held"}'] == 1


async def test_figures_are_read_once_in_a_while_however_many_ask(url: str) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        await cronty.metrics()
        made = await asyncpg.connect(url)
        try:
            await made.execute(
                "insert into cronty.workers (id, name, version, tzdata, concurrency, started_at, beat_at, lease_until)"
                " values (1, 'x', '0', '0', 1, now(), now(), now() + interval '1 hour')"
            )
        finally:
            await made.close()
        texts = await asyncio.gather(*(cronty.metrics() for _ in range(50)))
    assert {series(text)['cronty_fleet_workers{lease="held"}'] for text in texts} == {0}


async def test_a_worker_answers_probes_before_during_and_after(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("cronty.app.cronty.ANSWER_WITHIN", 0.5)
    middleman = Middleman(url)
    await middleman.start()
    cronty = Cronty(through(url, middleman.address))
    async with asked(cronty, caplog) as client:
        assert (await client.get("/health")).json() == {"status": "alive"}
        assert (await client.get("/ready")).json() == {"status": "not ready", "reason": "Cronty isn't open."}
        assert series((await client.get("/metrics")).text)["cronty_database_up"] == 0
        async with cronty:
            assert (await client.get("/ready")).status_code == 200
            assert series((await client.get("/metrics")).text)["cronty_concurrency"] == 50
            await middleman.stop()
            monkeypatch.setattr("cronty.store.fleet_store.KEPT", 0.0)
            away = await client.get("/ready")
            assert (away.status_code, away.json()["reason"]) == (503, "PostgreSQL can't be reached.")
            text = (await client.get("/metrics")).text
            assert series(text)["cronty_database_up"] == 0
            assert not any(one.name in text for one in OF_FLEET), "what isn't known isn't told"


async def test_the_small_server_answers_what_it_knows_and_nothing_else(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asked(Cronty(url, run_jobs=False), caplog) as client:
        assert (await client.get("/jobs")).status_code == 404
        assert (await client.post("/metrics")).status_code == 405
        head = await client.head("/metrics")
        assert (head.status_code, head.content) == (200, b"")
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write(b"x" * 100_000)
        assert await reader.read() == b"", "too long a head is hung up on"
        writer.close()


async def test_a_job_that_no_engine_fires_makes_a_worker_unready(
    url: str, sql: asyncpg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    async with Cronty(url, run_jobs=False) as door:
        await door.schedule_job("x", "notify", "interval", {"hours": 1}, kwargs={"message": "x", "topic": "x-y-z-1234"})
    await sql.execute("update cronty.due set next_at = now() - interval '1 minute'")
    cronty = Cronty(url)
    async with asked(cronty, caplog) as client, sql.transaction():
        await sql.execute("select from cronty.due for update")
        async with cronty:
            reason = (await client.get("/ready")).json()["reason"]
    assert re.fullmatch(r"A job has been due for 6\d s, and no engine fires it\.", reason)
