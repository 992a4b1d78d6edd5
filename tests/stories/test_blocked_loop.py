"""A task that blocks the event loop of its worker: named in the log, never performed twice, and not held forever."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from cronty import Cronty
from cronty.engine.watchdog import MOST_LEASES, STUCK
from tests.patience import PATIENCE

LEASE = 2.0
PROGRAM = """
import asyncio, time
from cronty import Cronty

cronty = Cronty()
cronty.die_when_stuck = True

def deeper(seconds):
    time.sleep(seconds)

@cronty.task
async def block(seconds: float, file: str) -> str:
    with open(file, "a") as opened:
        opened.write("begun\\n")
    deeper(seconds)
    return "slept"

async def main():
    async with cronty:
        await asyncio.Event().wait()

if __name__ == "__main__":
    import logging
    logging.basicConfig(level="INFO")
    asyncio.run(main())
"""

type Process = asyncio.subprocess.Process


@asynccontextmanager
async def working(url: str, folder: Path, lease: float = 1.0) -> AsyncGenerator[Process]:
    (folder / "blocking.py").write_text(PROGRAM)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "blocking.py", cwd=folder, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "CRONTY_DATABASE_URL": url, "CRONTY_LEASE": str(lease)},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def begun(file: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not os.path.exists(file):  # noqa: ASYNC240
            await asyncio.sleep(0.02)


async def said(process: Process, words: str) -> str:
    """The line of its log with these words."""
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        while line := (await process.stderr.readline()).decode():
            if words in line:
                return line
    raise AssertionError(f"It ended without saying {words!r}.")


@pytest.fixture
def other(url: str, monkeypatch: pytest.MonkeyPatch) -> Cronty:
    """A second worker with the same task, which doesn't block."""
    monkeypatch.setenv("CRONTY_LEASE", str(LEASE))
    cronty = Cronty(url, program="blocking")

    @cronty.task
    def block(seconds: float, file: str) -> str:
        with Path(file).open("a") as opened:
            opened.write("again\n")
        return "performed by the other"

    return cronty


async def test_a_blocked_worker_keeps_its_run_and_the_log_names_who_blocks(
    url: str, tmp_path: Path, other: Cronty, sql: asyncpg.Connection
) -> None:
    file = tmp_path / "file"
    async with working(url, tmp_path, LEASE) as process, Cronty(url, run_jobs=False) as door:
        await said(process, "started with")
        run = await door.named("block").enqueue((MOST_LEASES - 0.5) * LEASE, str(file))
        await begun(file)
        async with other:  # strikes off whoever sends no heartbeats
            line = await said(process, "has been blocked for")
            assert await run.result(timeout=PATIENCE) == "slept"
        await said(process, "the event loop turns again")
    assert file.read_text() == "begun\n"
    assert f"by task block ({run.run_id}, attempt 1) at " in line
    at, _, deepest = line.partition(", in ")
    assert at.endswith("blocking.py:15 in block")
    assert "blocking.py:9 in deeper" in deepest
    assert await sql.fetchval("select attempt from cronty.runs") == 1


async def test_a_loop_that_is_blocked_for_too_long_ends_its_process_and_others_perform_its_runs(
    url: str, tmp_path: Path, other: Cronty
) -> None:
    file = tmp_path / "file"
    async with working(url, tmp_path) as process, Cronty(url, run_jobs=False) as door:
        await said(process, "started with")
        run = await door.named("block").enqueue(PATIENCE, str(file))
        await begun(file)
        async with other:
            assert "this process ends" in await said(process, "CRITICAL")
            assert await asyncio.wait_for(process.wait(), PATIENCE) == STUCK
            assert await run.result(timeout=PATIENCE) == "performed by the other"
    assert file.read_text() == "begun\nagain\n"


async def test_a_blocked_worker_that_was_struck_off_does_not_come_back(
    url: str, tmp_path: Path, sql: asyncpg.Connection
) -> None:
    file = tmp_path / "file"
    async with working(url, tmp_path) as process, Cronty(url, run_jobs=False) as door:
        await said(process, "started with")
        await door.named("block").enqueue(MOST_LEASES - 0.5, str(file))
        await begun(file)
        (worker,) = [row["id"] for row in await sql.fetch("delete from cronty.workers returning id")]
        await said(process, "the event loop turns again")
        async with asyncio.timeout(PATIENCE):
            while not await sql.fetchval("select count(*) from cronty.workers"):
                await asyncio.sleep(0.02)
        assert not await sql.fetchval("select count(*) from cronty.workers where id = $1", worker)
