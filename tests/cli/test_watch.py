"""`cronty watch`: a line for each event in a pipe, JSON for programs, a table on a terminal; Ctrl-C ends it well."""

import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Generator
from contextlib import contextmanager
from fcntl import ioctl

import pytest

from cronty import Cronty
from tests.clients.serving import CRONTY, environment
from tests.patience import PATIENCE


@contextmanager
def fired(url: str) -> Generator[str]:
    """A job that has run once; its id."""
    cronty = Cronty(url)

    @cronty.task
    def greet() -> str:
        return "hello"

    @cronty.task
    def stumble() -> None:
        raise ValueError("no luck")

    cronty.start()
    try:
        for task in ("greet", "stumble"):
            cronty.wait(cronty.schedule_job(f"{task} [often]", task, "interval", {"seconds": 1}, max_runs=30))
        yield "greet"
    finally:
        cronty.stop()


@pytest.fixture
def settings(url: str) -> dict[str, str]:
    return environment(database_url=url)


def read_until(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_pipe_gets_a_line_for_each_event_and_ctrl_c_ends_it_well(
    url: str, settings: dict[str, str], options: tuple[str, ...]
) -> None:
    with fired(url):
        process = subprocess.Popen(
            [CRONTY, "watch", *options], env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        stuck = threading.Timer(60, process.kill)
        stuck.start()
        lines = read_until(process, 4)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        stuck.cancel()
    assert process.returncode == 0, said
    assert "Traceback" not in said
    if options:
        events = [json.loads(line) for line in lines]
        assert {event["verdict"] for event in events} <= {"running", "done", "failed", "waiting"}
        assert all(event["run_id"].startswith("run_") for event in events)
    else:
        assert all(re.match(r"\d\d:\d\d:\d\d  job \d+  \w+ +\w+ \[often\]", line) for line in lines), lines


def test_a_terminal_gets_a_table_that_fits(url: str, settings: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 60, 0, 0))
    known = {name: value for name, value in settings.items() if name not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    seen = ""
    with fired(url):
        process = subprocess.Popen([CRONTY, "watch"], env=known, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        stuck = threading.Timer(60, process.kill)
        stuck.start()
        while not ("greet [often]" in seen and "ValueError: no" in seen):
            seen += os.read(ours, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        stuck.cancel()
        os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", seen)
    assert "verdict" in plain
    assert max(len(line) for line in plain.replace("\r", "\n").splitlines()) <= 60
