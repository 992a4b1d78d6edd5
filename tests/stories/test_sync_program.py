"""A program that isn't async: start, wait, stop."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from asyncpg import Connection

from cronty import Cronty
from cronty.store.schema import SchemaOutdated
from tests.conftest import with_database
from tests.patience import PATIENCE

PROGRAM = """
import sys
import threading
from cronty import Cronty

cronty = Cronty(sys.argv[1])
ticks = threading.Semaphore(0)

@cronty.task
def tick(word):
    print(word, threading.current_thread() is threading.main_thread())
    ticks.release()

cronty.start()
job = cronty.wait(cronty.schedule_job("twice", "tick", "interval", {"seconds": 1}, ["tick"], max_runs=2))
assert job.status == "pending", job
for _ in range(2):
    assert ticks.acquire(timeout=60)
cronty.stop()
print("stopped")
"""


async def test_a_plain_program_sees_its_job_run_twice(url: str, tmp_path: Path, sql: Connection) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(  # noqa: ASYNC221
        [sys.executable, program, url], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == ["tick False", "tick False", "stopped"]
    assert [row[0] for row in await sql.fetch("select state from cronty.runs")] == ["done", "done"]
    assert await sql.fetchval("select count(*) from cronty.workers where lease_until > now()") == 0


def test_it_can_be_started_again_after_it_was_stopped(url: str) -> None:
    cronty = Cronty(url, run_jobs=False)
    for _ in range(2):
        cronty.start()
        assert cronty.wait(cronty.list_jobs()).total == 0
        cronty.stop()
    cronty.stop()  # nothing to stop is no fault


def test_it_says_so_when_it_is_not_started_or_started_twice(url: str) -> None:
    cronty = Cronty(url, run_jobs=False)
    with pytest.raises(RuntimeError, match=r"isn't started; call cronty.start\(\) first"):
        cronty.wait(cronty.list_jobs())
    cronty.start()
    try:
        with pytest.raises(RuntimeError, match="already started"):
            cronty.start()
    finally:
        cronty.stop()
    with pytest.raises(RuntimeError, match="isn't started"):
        cronty.wait(cronty.list_jobs())


def test_a_start_that_fails_says_why_and_leaves_no_thread_behind(server_url: str) -> None:
    cronty = Cronty(with_database(server_url, "postgres"))
    before = threading.active_count()
    with pytest.raises(SchemaOutdated, match="Run `cronty migrate`"):
        cronty.start()
    assert threading.active_count() == before


def test_calls_from_another_event_loop_and_after_a_fork_are_refused_at_once_and_break_nothing(url: str) -> None:
    cronty = Cronty(url)

    @cronty.task
    def echo(word: str) -> str:
        return word

    cronty.start()
    try:
        with pytest.raises(RuntimeError, match=r"cronty.wait\("):
            asyncio.run(echo.enqueue("wrong"))
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            try:
                cronty.wait(echo.enqueue("never"))
            except RuntimeError as refused:
                os.write(write, str(refused).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as said:
            assert "forked" in said.read()
        os.waitpid(child, 0)
        run = cronty.wait(echo.enqueue("right"))
        assert cronty.wait(run.result(timeout=PATIENCE)) == "right"
    finally:
        cronty.stop()
