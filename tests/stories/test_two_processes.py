"""One process asks, another one works; they meet only in the database."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from asyncpg import Connection

from cronty import Cronty
from cronty.contract.answers import ScheduledJob
from cronty.contract.result import CrontyError
from tests.patience import PATIENCE

WORKER = '''
import time
from pathlib import Path
from cronty import Cronty
from cronty.contract.answers import ScheduledJob
from cronty.contract.result import CrontyError

cronty = Cronty()

@cronty.task
def note(file: str, word: str) -> None:
    """Write a word down."""
    with open(file, "a") as opened:
        opened.write(word + "\\n")

@cronty.task
def slow(started: str, go: str) -> str:
    """Say that it has started, and end when it is told."""
    Path(started).touch()
    while not Path(go).exists():
        time.sleep(0.01)
    return "finished"
'''

type Process = asyncio.subprocess.Process


async def until[T](look: Callable[[], Awaitable[T]], good: Callable[[T], bool]) -> T:
    """Look again and again until it is good."""
    async with asyncio.timeout(PATIENCE):
        while not good(seen := await look()):
            await asyncio.sleep(0.02)
    return seen


@pytest.fixture
async def door(url: str) -> AsyncGenerator[Cronty]:
    async with Cronty(url, run_jobs=False) as opened:
        yield opened


@asynccontextmanager
async def worker(url: str, folder: Path, door: Cronty) -> AsyncGenerator[Process]:
    """`cronty work` in a folder of its own, once its tasks are known."""
    (folder / "backup.py").write_text(WORKER)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cronty.cli.main", "work", "backup:cronty"),
        cwd=folder,
        env={**os.environ, "CRONTY_DATABASE_URL": url},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        await until(door.list_tasks, lambda seen: "note" in [task.name for task in seen.tasks])
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def parting_words(process: Process) -> str:
    """What a worker said that was told to leave, once it has left in good order."""
    async with asyncio.timeout(PATIENCE):
        _, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


async def test_a_job_made_here_is_fired_there_and_listed_here(
    url: str, door: Cronty, tmp_path: Path, sql: Connection
) -> None:
    words = tmp_path / "words"
    async with worker(url, tmp_path, door) as process:
        job = await door.schedule_job("twice", "note", "interval", {"seconds": 1}, [str(words), "hello"], max_runs=2)
        job_id = job.job_id
        await until(lambda: door.job_status(job_id), lambda seen: seen.status == "completed")
        process.send_signal(signal.SIGTERM)
        said = await parting_words(process)
    assert words.read_text() == "hello\nhello\n"
    [listed] = (await door.list_jobs("completed")).jobs
    assert (listed.job_id, listed.run_count) == (job_id, 2)
    assert await sql.fetchval("select count(*) from cronty.slots_unaccounted") == 0
    assert "Traceback" not in said


async def test_a_worker_that_is_told_to_leave_finishes_what_it_does(
    url: str, door: Cronty, tmp_path: Path, sql: Connection
) -> None:
    started, go = tmp_path / "started", tmp_path / "go"
    async with worker(url, tmp_path, door) as process:
        job = await door.schedule_job("slow", "slow", "interval", {"hours": 1}, [str(started), str(go)])
        await door.run_job_now(job.job_id)
        await until(lambda: asyncio.to_thread(started.exists), bool)
        process.send_signal(signal.SIGTERM)
        assert (await door.job_status(job.job_id)).status == "running"
        go.touch()
        said = await parting_words(process)
    run = await sql.fetchrow("select state, attempt, result from cronty.runs")
    assert run is not None
    assert tuple(run) == ("done", 1, '"finished"')
    assert await sql.fetchval("select count(*) from cronty.queue") == 0
    assert await sql.fetchval("select count(*) from cronty.workers where lease_until > now()") == 0
    assert "stopped, 0 run(s) handed over" in said


async def test_a_task_is_unknown_until_some_worker_has_it(url: str, door: Cronty, tmp_path: Path) -> None:
    async def ask() -> ScheduledJob:
        return await door.schedule_job("a job", "note", "interval", {"hours": 1}, ["/dev/null", "word"])

    with pytest.raises(CrontyError, match="Unknown task: note Registered tasks: notify, prompt, webhook"):
        await ask()
    async with worker(url, tmp_path, door) as process:
        assert (await ask()).status == "pending"
        tasks = (await door.list_tasks()).tasks
        assert (tasks[0].name, tasks[0].doc) == ("note", "Write a word down.")
        process.send_signal(signal.SIGTERM)
        await parting_words(process)
    assert (await ask()).status == "pending"  # what the fleet once had may be scheduled for its return
