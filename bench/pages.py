"""What looking costs an owner with ten jobs and one with 100,000, among everybody's: time, pages, round trips."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from statistics import median
from typing import Final

import asyncpg
import httpx2

from bench.fill import connected
from bench.idle import from_base
from bench.meter import Cost, Meter
from bench.recipe import BASE, HUGE, SMALL
from cronty.app import Cronty
from cronty.asgi import http_app
from cronty.contract.local_key import make_code
from cronty.mcp.server import GROUPS
from cronty.web.callers import LocalKey

HOST: Final = "localhost:8125"
URL: Final = f"http://{HOST}"
KEY: Final = "of the bench"
GROWN: Final = {
    "now": "/", "jobs": "/jobs", "job": "/jobs/{job}", "list": "/api/v1/jobs?limit=50", "create": "", "edit": "",
}  # fmt: skip
"""What `grow` looks at; every page and list is looked at by `pages`."""

PATHS: Final = (
    "/",
    "/jobs",
    "/jobs?q=number+1",
    "/jobs?status=pending",
    "/jobs/{job}",
    "/runs/{run}",
    "/inbox",
    "/fleet",
    "/settings",
    "/api/v1/jobs?limit=50",
    "/api/v1/jobs?name=number+1&limit=50",
    "/api/v1/jobs/{job}",
    "/api/v1/jobs/{job}/runs?limit=50",
    "/api/v1/runs/{run}",
    "/api/v1/runs/failed",
    "/api/v1/limits",
)
NEW: Final = {
    "name": "measured", "task": "notify", "trigger_type": "cron", "trigger_config": {"expression": "30 9 * * *"},
    "timezone": "Europe/Berlin", "kwargs": {"message": "hello", "topic": "phone"},
}  # fmt: skip

COUNTED: Final = 3

type Found = dict[str, dict[str, object]]
type Call = Callable[[httpx2.AsyncClient], Awaitable[httpx2.Response]]


@asynccontextmanager
async def opened(url: str, owner: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the whole HTTP application as this owner, without a network between, at the time of the fill."""
    async with Cronty(url, owner=owner, run_jobs=False, clock=from_base()) as cronty:
        transport = httpx2.ASGITransport(http_app(cronty, GROUPS, [HOST], LocalKey(KEY, owner, URL)))
        known = {"authorization": f"Bearer {KEY}"}
        async with httpx2.AsyncClient(transport=transport, base_url=URL, headers=known, timeout=120) as client:
            await client.get(f"/sign-in?code={make_code(KEY, 'open', URL)}")
            yield client


async def measured(meter: Meter, client: httpx2.AsyncClient, asked: Mapping[str, Call], rounds: int) -> Found:
    """Medians over `rounds`, after one that doesn't count. A call that fails says why, and the others go on."""
    found: Found = {name: {} for name in asked}
    for meter.exact in (True, False):
        for name, call in asked.items():
            try:
                found[name] |= await (count(meter, client, call) if meter.exact else clock(client, call, rounds))
            except (RuntimeError, httpx2.HTTPError, asyncpg.PostgresError) as failed:
                found[name] |= {"error": f"{type(failed).__name__}: {failed}"[:300]}
    return found


async def count(meter: Meter, client: httpx2.AsyncClient, call: Call) -> dict[str, object]:
    await answered(client, call)
    costs: list[Cost] = []
    size = 0
    for _ in range(COUNTED):
        async with meter.reading() as cost:
            size = len((await answered(client, call)).content)
        costs.append(cost)
    return {
        "pages": round(median(cost.pages for cost in costs)),
        "round_trips": round(median(cost.round_trips for cost in costs)), "kb": round(size / 1000, 1),
    }  # fmt: skip


async def clock(client: httpx2.AsyncClient, call: Call, rounds: int) -> dict[str, object]:
    await answered(client, call)
    times: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        await answered(client, call)
        times.append(time.perf_counter() - began)
    return {"ms": round(median(times) * 1000, 1)}


async def answered(client: httpx2.AsyncClient, call: Call) -> httpx2.Response:
    answer = await call(client)
    if answer.status_code >= 400:
        raise RuntimeError(f"status {answer.status_code}: {answer.text[:200]}")
    return answer


def calls(job: int) -> dict[str, Call]:
    """What `grow` looks at, as calls; the last two change something."""
    turn = 0

    def get(path: str) -> Call:
        return lambda client: client.get(path.format(job=job))

    async def create(client: httpx2.AsyncClient) -> httpx2.Response:
        return await client.post("/api/v1/jobs", json=NEW)

    async def edit(client: httpx2.AsyncClient) -> httpx2.Response:
        nonlocal turn
        turn += 1
        config = {"expression": f"{turn % 60} 9 * * *"}
        change = {"name": f"edited {turn}", "trigger_type": "cron", "trigger_config": config}
        return await client.patch(f"/api/v1/jobs/{job}", json=change)

    return {name: get(path) for name, path in GROWN.items() if path} | {"create": create, "edit": edit}


async def grown(url: str, postmaster: int, owner: str, rounds: int) -> Found:
    """The six that `grow` shows, for one owner."""
    async with metered(url, postmaster, owner) as (meter, client, sql):
        job, _ = await some_job(sql, owner)
        return await measured(meter, client, calls(job), rounds)


@asynccontextmanager
async def metered(
    url: str, postmaster: int, owner: str
) -> AsyncGenerator[tuple[Meter, httpx2.AsyncClient, asyncpg.Connection]]:
    async with connected(url) as sql:
        meter = Meter(sql, postmaster)
        with meter.listening():
            async with opened(url, owner) as client:
                yield meter, client, sql


async def some_job(sql: asyncpg.Connection, owner: str) -> tuple[int, str]:
    """The first cron of an owner, and its last run."""
    row = await sql.fetchrow(
        "select j.number, d.last_run from cronty.jobs j join cronty.owners o on o.id = j.owner_id"
        " join cronty.due d on d.job_id = j.id"
        " where o.name = $1 and d.expression is not null and d.last_run < $2 order by j.number limit 1", owner, BASE
    )  # fmt: skip
    assert row is not None
    return row["number"], f"run_{row['number']}_{round(row['last_run'].timestamp() * 1_000_000)}"


async def main(url: str, postmaster: int, rounds: int) -> AsyncGenerator[dict[str, object]]:
    """Every page and list, and a job made and changed, for the small owner and for the huge one."""
    for owner in (SMALL, HUGE):
        async with metered(url, postmaster, owner) as (meter, client, sql):
            job, run = await some_job(sql, owner)
            asked = {path: _getting(path.format(job=job, run=run)) for path in PATHS}
            asked |= {name: calls(job)[name] for name in ("create", "edit")}
            for path, figures in (await measured(meter, client, asked, rounds)).items():
                yield {"owner": owner, "path": path, **figures}


def _getting(path: str) -> Call:
    return lambda client: client.get(path)
