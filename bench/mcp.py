"""What a call costs an agent: through a real stdio client, beside the bare statements; and how long a start takes."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import asyncpg
import psutil
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from bench.lag import percentiles
from cronty.jobs.overview import MAX_COUNTED
from cronty.store.database import parameters, query
from cronty.store.migrate import migrate
from cronty.timing import tzdata_version

type Finding = Mapping[str, object]

OWNER: Final = "local"
FILL: Final = """
with owner as (
  insert into cronty.owners (name) values ('local') on conflict (name) do update set name = 'local' returning id
), job as (
  insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, zone, policy, tags, created_at, updated_at)
  select owner.id, i, 'job number ' || i, 'prompt', '{"args": [], "kwargs": {"prompt": "Look at my pull requests."}}',
    '{"kind": "interval", "seconds": 86400, "anchor": "2027-01-01T00:00:00+00:00"}', 'UTC', '{}', '{}', now(), now()
  from owner, generate_series(1, $1::int) i
  returning id, owner_id, number
)
insert into cronty.due (job_id, owner_id, next_at, serial, period)
select id, owner_id, now() + interval '1 day' + number * interval '1 second', true, 86400000000 from job
"""
JOB: Final[dict[str, object]] = {
    "name": "measured", "task": "prompt", "kwargs": {"prompt": "Look at my pull requests."}, "trigger_type": "interval",
    "trigger_config": {"days": 1},
}  # fmt: skip


@dataclass(slots=True)
class Measured:
    """Seconds per call, through MCP and bare."""

    through: list[float] = field(default_factory=list[float])
    bare: list[float] = field(default_factory=list[float])

    def finding(self, what: str) -> Finding:
        found: dict[str, object] = {"what": what, "calls": len(self.through), "mcp": percentiles(self.through)}
        if self.bare:
            found |= {"bare": percentiles(self.bare), "ratio": round(median(self.through) / median(self.bare), 1)}
        return found


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRONTY_", "PYTHONDONT"))}
    return kept | {f"CRONTY_{name.upper()}": value for name, value in settings.items()}


@asynccontextmanager
async def connected(url: str, folder: str) -> AsyncGenerator[Client]:
    given = environment(database_url=url, log_level="WARNING") | {"PYTHONPYCACHEPREFIX": f"{folder}/pyc"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "cronty.cli.main", "mcp"], env=given)
    async with Client(stdio_client(server), cache=None) as client:
        yield client


async def timed[T](call: Awaitable[T], into: list[float]) -> T:
    began = time.perf_counter()
    result = await call
    into.append(time.perf_counter() - began)
    return result


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error
    assert result.structured_content is not None
    assert not result.structured_content.get("error"), result.structured_content
    return dict(result.structured_content)


class Bare:
    """The statements that each call needs, one after the other on one connection."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._sql = connection

    async def schedule_job(self) -> int:
        standing = await self._sql.fetchrow(
            *_named("standing", owner=OWNER, leased=False, lease=600.0, tasks=["prompt"])
        )
        assert standing is not None
        now = standing["now"]
        number = await self._sql.fetchval(query("take_numbers"), OWNER, 1)
        job: dict[str, object] = {
            "owner": OWNER, "name": "measured", "task": "prompt", "arguments": {"args": [], "kwargs": JOB["kwargs"]},
            "trigger": {"kind": "interval", "seconds": 86400, "anchor": now.isoformat()}, "policy": {}, "tags": [],
            "now": now.isoformat(), "first_slot": (now + timedelta(days=1)).isoformat(), "delay": 0, "serial": True,
            "period": 86_400_000_000, "zone": "UTC", "number": number, "slots_after": now.isoformat(), "say": False,
        }  # fmt: skip
        assert "id" in json.loads(await self._sql.fetchval(query("add_job"), json.dumps(job)))
        return number

    async def list_jobs(self) -> None:
        await self._sql.fetch(*_named("list_jobs", owner=OWNER, rows=20, most_counted=MAX_COUNTED))

    async def job_status(self, number: int) -> None:
        await self._sql.fetchrow(query("show_job"), OWNER, number, None, False)
        await self._sql.fetch(query("list_runs"), OWNER, number, 10, None, None)

    async def cancel_job(self, number: int) -> None:
        now = datetime.now(UTC)
        async with self._sql.transaction():
            job_id = await self._sql.fetchval(query("lock_job"), OWNER, number, False)
            row = await self._sql.fetchrow(query("show_job"), OWNER, number, None, False)
            assert row is not None
            await self._sql.fetch(query("in_flight_runs"), [job_id])
            await self._sql.execute(
                *_named(
                    "save_job", id=job_id, name=row["name"], task=row["task"], arguments=row["arguments_json"],
                    trigger=row["trigger_json"], policy=row["policy_json"], tags=[], state="cancelled",
                    more_failures=0, now=now, delay=0, serial=True, period=86_400_000_000, zone="UTC",
                    tzdata=tzdata_version(), slots_after=now,
                )
            )  # fmt: skip
        await self._sql.fetchrow(query("show_job"), OWNER, number, None, False)


def _named(name: str, /, **given: object) -> list[Any]:
    """A statement and its parameters; those that aren't given are null."""
    return [query(name), *(given.get(one) for one in parameters(name))]


async def latency(url: str, jobs: int, calls: int) -> list[Finding]:
    """Each call `calls` times, by turns through MCP and bare, with `jobs` jobs stored."""
    await migrate(url)
    sql = await asyncpg.connect(url)
    await sql.execute(FILL, jobs)
    await sql.execute("vacuum analyze")
    bare = Bare(sql)
    found = {
        name: Measured()
        for name in ("protocol alone", "get_current_time", "schedule_job", "list_jobs", "job_status", "cancel_job")
    }
    with TemporaryDirectory(prefix="cronty-bench-") as folder:
        async with connected(url, folder) as client:
            await call(client, "get_current_time")
            for turn in range(calls + WARM_UP):
                if turn == WARM_UP:
                    found = {name: Measured() for name in found}
                await _round(client, bare, found)
    await sql.close()
    return [measured.finding(what) for what, measured in found.items()]


WARM_UP: Final = 20


async def _round(client: Client, bare: Bare, found: dict[str, Measured]) -> None:
    async def both(
        what: str, through: Callable[[], Awaitable[Any]], beside: Callable[[], Awaitable[Any]]
    ) -> tuple[Any, Any]:
        return await timed(through(), found[what].through), await timed(beside(), found[what].bare)

    await timed(client.list_prompts(), found["protocol alone"].through)
    await timed(call(client, "get_current_time"), found["get_current_time"].through)
    job, number = await both("schedule_job", lambda: call(client, "schedule_job", **JOB), bare.schedule_job)
    job_id = job["job_id"]
    await both("list_jobs", lambda: call(client, "list_jobs"), bare.list_jobs)
    await both("job_status", lambda: call(client, "job_status", job_id=job_id), lambda: bare.job_status(number))
    await both("cancel_job", lambda: call(client, "cancel_job", job_id=job_id), lambda: bare.cancel_job(number))


# -- starts -----------------------------------------------------------------------------------------------------


def starts(count: int) -> list[Finding]:
    """`cronty mcp` from its start to the answer of tools/list and of the first call; folder and modules are warm."""
    with TemporaryDirectory(prefix="cronty-bench-") as folder:
        os.chmod(folder, 0o711)  # if we are root, PostgreSQL's user has to get through
        given = environment(data_dir=f"{folder}/data") | {"PYTHONPYCACHEPREFIX": f"{folder}/pyc"}
        start(given)  # makes the cluster, compiles the modules
        stopped = [start(given) for _ in range(count)]
        with subprocess.Popen(
            COMMAND, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as keeper:
            converse(keeper, time.perf_counter())
            running = [start(given) for _ in range(count)]
            keeper.communicate(timeout=30)
    return [_summary("start, PostgreSQL stopped", stopped), _summary("start, PostgreSQL running", running)]


COMMAND: Final = [str(Path(sys.executable).parent / "cronty"), "mcp", "--no-service"]
MESSAGES: Final[list[Finding]] = [
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "get_current_time", "arguments": {}}},
]  # fmt: skip


def start(given: dict[str, str]) -> dict[str, float]:
    began = time.perf_counter()
    with subprocess.Popen(
        COMMAND, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        figures = converse(process, began)
        process.communicate(timeout=30)
    return figures


def converse(process: subprocess.Popen[bytes], began: float) -> dict[str, float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in MESSAGES))
    process.stdin.flush()
    figures: dict[str, float] = {}
    while len(figures) < 3:
        answer = json.loads(process.stdout.readline())
        if answer["id"] == 2:
            used = psutil.Process(process.pid).cpu_times()
            figures |= {"listed_s": time.perf_counter() - began, "cpu_s": used.user + used.system}
        elif answer["id"] == 3:
            figures["answered_s"] = time.perf_counter() - began
    return figures


def _summary(what: str, figures: list[dict[str, float]]) -> Finding:
    parts = {name: [one[name] for one in figures] for name in ("listed_s", "cpu_s", "answered_s")}
    return {"what": what, "starts": len(figures)} | {
        name: {"median": round(median(values), 2), "max": round(max(values), 2)} for name, values in parts.items()
    }


async def main(url: str, jobs: int, calls: int, count: int) -> list[Finding]:
    """All findings, with how busy the machine was before and after."""
    before = os.getloadavg()[0]
    found = await latency(url, jobs, calls)
    found += await asyncio.to_thread(starts, count)
    load = {"what": "load", "before": round(before, 2), "after": round(os.getloadavg()[0], 2), "cores": os.cpu_count()}
    return [*found, load]
