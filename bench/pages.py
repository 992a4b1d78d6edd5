"""Every page and list of one owner with 100,000 jobs and 5,000,000 runs, beside the bare SQL it asks, in one run."""

import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from statistics import median
from typing import Any
from unittest.mock import patch

import asyncpg
import httpx2

from cronty.app import Cronty
from cronty.cli.serve import http_app
from cronty.mcp.server import GROUPS
from cronty.store.database import Bound, Database, query
from cronty.store.migrate import migrate

HOST = "localhost:8125"
OWNER = "local"

JOBS = """
insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at, zone,
  state, reason, failures_in_row, last_error)
select $1::bigint, i, (array['Backup', 'Report', 'Stand-up', 'Digest', 'Check'])[1 + i % 5] || ' ' || i,
  (array['notify', 'prompt', 'webhook'])[1 + i % 3],
  '{"args": [], "kwargs": {"message": "hello", "topic": "phone"}}',
  jsonb_build_object('kind', 'cron', 'expression', i % 60 || ' ' || i % 24 || ' * * *', 'zone', 'Europe/Berlin'),
  '{}', array['tag-' || i % 50], now() - interval '60 days', now(), 'Europe/Berlin',
  (case when i % 500 = 0 then 'paused' else 'active' end)::cronty.job_state,
  case when i % 500 = 0 then 'failed 10 times in a row' end, (i % 333 = 0)::int,
  case when i % 333 = 0 then 'the other side hung up' end
from generate_series(1, $2::int) i
"""
DUE = """
insert into cronty.due (job_id, owner_id, next_at, last_slot, last_run, serial, expression, zone, run_count)
select id, owner_id,
  case when state = 'active' then date_trunc('hour', now()) + (60 + number % 1440) * interval '1 minute' end,
  now() - interval '1 day', now() - interval '1 day', true, trigger ->> 'expression', 'Europe/Berlin', 50
from cronty.jobs where owner_id = $1
"""
DAY = """
insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at, reason, error)
select j.id, s.at, $1, s.verdict::cronty.run_state, case when s.verdict in ('done', 'failed') then 1 else 0 end,
  s.at + interval '30 ms', s.at + interval '80 ms',
  case when s.verdict in ('skipped', 'coalesced') then 'the one before was still running' end,
  case when s.verdict = 'failed' then 'the other side hung up' end
from (select id, row_number() over (order by id) as place from cronty.jobs where owner_id = $1) j,
lateral (
  select now() - ($3::int - $2::int + 1) * interval '1 day' + j.place * interval '1 day' / $4::int as at,
    (array['done', 'done', 'done', 'done', 'done', 'done', 'done', 'done', 'done', 'failed', 'skipped',
      'coalesced'])[1 + (j.place + $2::int) % 12] as verdict
) s
"""


async def fill(url: str, jobs: int, runs_each: int) -> None:
    """One owner's jobs, each with a run a day until now."""
    await migrate(url)
    connection = await asyncpg.connect(url)
    owner = await connection.fetchval("insert into cronty.owners (name) values ($1) returning id", OWNER)
    for week in range(-runs_each // 7 - 1, 3):
        monday = "select cronty.make_run_partition(date_trunc('week', now() + $1 * interval '7 days', 'UTC'))"
        await connection.fetchval(monday, week)
    await connection.execute(JOBS, owner, jobs, timeout=600)
    await connection.execute(DUE, owner, timeout=600)
    for day in range(runs_each):  # in the order of time, as they would have come
        await connection.execute(DAY, owner, day, runs_each, jobs, timeout=600)
    for table in ("owners", "jobs", "due", "runs"):
        await connection.execute(f"vacuum analyze cronty.{table}", timeout=600)
    await connection.close()


type Asked = list[tuple[str, tuple[object, ...]]]


@contextmanager
def recorded() -> Generator[Asked]:
    """The statements that are made meanwhile, by name."""
    asked: Asked = []

    def noting(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: object, name: str, *arguments: object) -> Any:
            asked.append((name, arguments))
            return original(self, name, *arguments)

        return call

    whats = [(one, what) for one in (Bound, Database) for what in ("fetch", "one", "value")]
    patches = [patch.object(one, what, noting(getattr(one, what))) for one, what in whats]
    for one in patches:
        one.start()
    try:
        yield asked
    finally:
        for one in patches:
            one.stop()


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the whole HTTP application, without a network between."""
    async with Cronty(url, run_jobs=False) as cronty:
        transport = httpx2.ASGITransport(http_app(cronty, GROUPS, [HOST]))
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}", timeout=60) as client:
            yield client


async def main(url: str, jobs: int, runs: int, rounds: int) -> AsyncGenerator[dict[str, object]]:
    await fill(url, jobs, runs // jobs)
    bare = await asyncpg.connect(url, server_settings={"jit": "off"})
    job = await bare.fetchval("select max(number) from cronty.jobs where state = 'active' and task = 'notify'")
    slot = await bare.fetchval(
        "select max(r.scheduled_for) from cronty.runs r join cronty.jobs j on j.id = r.job_id where j.number = $1", job
    )
    run = f"run_{job}_{round(slot.timestamp() * 1_000_000)}"
    async with opened(url) as client:
        for path in [one.format(job=job, run=run) for one in PATHS]:
            yield await beside(client, bare, path, rounds)
    await bare.close()


async def beside(client: httpx2.AsyncClient, bare: asyncpg.Connection, path: str, rounds: int) -> dict[str, object]:
    """The page and its statements in turns, after one of each that doesn't count."""
    with recorded() as asked:
        answer = await client.get(path)
    pages: list[float] = []
    statements: list[float] = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        await client.get(path)
        pages.append(time.perf_counter() - began)
        began = time.perf_counter()
        for name, arguments in asked:
            await bare.fetch(query(name), *arguments)
        statements.append(time.perf_counter() - began)
    page, alone = median(pages[1:]) * 1000, median(statements[1:]) * 1000
    return {
        "path": path, "status": answer.status_code, "kb": round(len(answer.content) / 1000, 1),
        "page_ms": round(page, 1), "bare_ms": round(alone, 1), "ratio": round(page / alone, 2) if asked else None,
        "statements": [name for name, _ in asked],
    }  # fmt: skip


PATHS = (
    "/",
    "/jobs",
    "/jobs?q=report",
    "/jobs?tag=tag-7",
    "/jobs?status=pending",
    "/jobs/{job}",
    "/runs/{run}",
    "/inbox",
    "/fleet",
    "/settings",
    "/api/v1/jobs?limit=50",
    "/api/v1/jobs?name=report&limit=50",
    "/api/v1/jobs/{job}",
    "/api/v1/jobs/{job}/runs?limit=50",
    "/api/v1/runs/{run}",
    "/api/v1/runs/failed",
    "/api/v1/limits",
)
