"""What commands do about a database that is away, or comes back, or is read-only."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import orjson
import pytest

from cronty.actions.tasks import Registry
from tests.cli.test_commands import cronty
from tests.clients.serving import environment
from tests.conftest import hands_of
from tests.middleman import Middleman, nobody_there, through


@asynccontextmanager
async def running(folder: Path, url: str, *arguments: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    (folder / "backup.py").write_text("from cronty import Cronty\ncronty = Cronty()\n")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cronty.cli.main", *arguments),
        cwd=folder,
        env=environment(database_url=url, data_dir=str(folder / "data")),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def line(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async with asyncio.timeout(60):
        return (await process.stderr.readline()).decode()


COMMANDS = {"work": ("work", "backup:cronty"), "serve": ("serve", "--port", "0")}


@pytest.mark.parametrize("command", ["work", "serve"])
async def test_a_process_that_starts_during_an_outage_waits_with_one_line(
    command: str, url: str, tmp_path: Path
) -> None:
    address = nobody_there()
    middleman = Middleman(url)
    port = int(address.split(":")[1])
    arguments = (*COMMANDS[command][:-1], str(port + 1)) if command == "serve" else COMMANDS[command]
    async with running(tmp_path, through(url, address), *arguments) as process:
        assert "PostgreSQL can't be reached" in (said := await line(process))
        assert "this is logged once" in said
        await middleman.start(port)
        try:
            if "superuser" in (said := await line(process)):  # the user of these tests is one
                said = await line(process)
            assert "worker" in said
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(60):
                assert await process.wait() == 0
        finally:
            await middleman.stop()


async def test_a_process_that_waits_for_its_database_stops_when_told(url: str, tmp_path: Path) -> None:
    async with running(tmp_path, through(url, nobody_there()), *COMMANDS["work"]) as process:
        await line(process)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            assert await process.wait() == 0
        assert await line(process) == "", "one line, and no trace"


async def test_a_process_with_a_wrong_url_does_not_wait(url: str, tmp_path: Path) -> None:
    wrong = url.replace(url.partition("?")[0].rsplit("/", 1)[1], "nosuchdatabase", 1)
    async with running(tmp_path, wrong, *COMMANDS["work"]) as process:
        assert "nosuchdatabase" in await line(process)
        async with asyncio.timeout(60):
            assert await process.wait() == 2


@pytest.mark.parametrize("command", ["doctor", "migrate"])
async def test_a_read_only_server_is_said_in_a_line(command: str, url: str, sql: asyncpg.Connection) -> None:
    name = await sql.fetchval("select current_database()")
    await sql.execute(f"alter database {name} set default_transaction_read_only = on")
    try:
        said = await cronty(command, database_url=url)
    finally:
        await sql.execute(f"alter database {name} reset default_transaction_read_only")
    assert said.code == 2
    assert "the server is read-only" in said.err
    assert len(said.err.splitlines()) == 1


async def test_the_doctor_names_the_fault_of_each_server(url: str) -> None:
    first, second = nobody_there(), nobody_there()
    said = await cronty("doctor", database_url=through(url, first, second))
    assert said.code == 2
    assert f"{first}: " in said.err
    assert f"{second}: " in said.err
    assert len(said.err.splitlines()) == 1


async def findings_of(url: str) -> dict[str, tuple[bool, str]]:
    said = await cronty("doctor", "--json", database_url=url)
    return {one["what"]: (one["good"], one["said"]) for one in orjson.loads(said.out)["findings"]}


async def test_the_doctor_sees_a_replica_a_stale_lease_and_a_stuck_engine_within_a_minute(
    url: str, sql: asyncpg.Connection
) -> None:
    async with hands_of(url, None, Registry()):
        await sql.execute(
            "with owner as (insert into cronty.owners (name) values ('ann') returning id), job as ("
            " insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags,"
            " created_at, updated_at)"
            " select id, 1, 'a job', 'note', '{}', '{}', '{}', '{}', now(), now() from owner returning id, owner_id)"
            " insert into cronty.due (job_id, owner_id, next_at, serial)"
            " select id, owner_id, now() - interval '20 seconds', true from job"
        )
        fresh = await findings_of(url)
        assert fresh["leases"] == (True, "none overdue")
        assert fresh["oldest overdue slot"][0] is False
        assert "with 1 worker alive: an engine is stuck" in fresh["oldest overdue slot"][1]
        await sql.execute("update cronty.workers set lease_until = now() - interval '20 seconds'")
        joint = "&" if "?" in url else "?"
        stale = await findings_of(f"{url}{joint}target_session_attrs=any")
    assert stale["leases"] == (False, "1 passed 15 s ago or more, and no worker is alive to take over")
    assert stale["servers"] == (
        False,
        "target_session_attrs=any may stay with a replica: leave it out, or use read-write",
    )
    assert stale["database"][0] is True
