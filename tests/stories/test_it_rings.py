"""A laptop in New York: one client is opened, told "remind me tomorrow at 9", and closed. It rings at 9 there."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from cronty.cli import service_keeper
from cronty.cli.service_folder import ServiceFolder
from tests.clients.serving import environment
from tests.clients.test_local import servers
from tests.mcp.caller import Caller, held
from tests.patience import PATIENCE
from tests.stories.ntfy import Ntfy

NEW_YORK = ZoneInfo("America/New_York")
COMMAND = (sys.executable, "-m", "cronty.cli.main")
CLOCK = '''
"""Time as a test wants it: so many seconds ahead of the real one as a file says."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cronty import Cronty

AHEAD = Path(__file__).with_name("ahead")


def clock() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=float(AHEAD.read_text() or 0))


cronty = Cronty(clock=clock)
'''


@dataclass
class Laptop:
    home: Path
    ntfy: Ntfy

    @property
    def data(self) -> Path:
        return self.home / ".local/share/cronty"

    @property
    def service(self) -> ServiceFolder:
        return ServiceFolder(self.data)

    @property
    def environment(self) -> dict[str, str]:
        found = environment(
            data_dir=str(self.data), ntfy_url=f"http://{self.ntfy.host}", allowed_hosts=self.ntfy.host, drain="2"
        )
        return found | {"HOME": str(self.home), "TZ": "America/New_York"}

    @asynccontextmanager
    async def client(self, *options: str) -> AsyncGenerator[Caller]:
        """`cronty mcp`, started by a real client and closed by it."""
        parameters = StdioServerParameters(
            command=COMMAND[0], args=[*COMMAND[1:], "mcp", *options], env=self.environment, cwd=self.home
        )
        with (self.home / "mcp.log").open("a") as log:
            async with held(Client(stdio_client(parameters, errlog=log))) as client:
                yield Caller(client)

    def say(self, *words: str) -> str:
        done = subprocess.run(
            [*COMMAND, *words], env=self.environment, cwd=self.home, capture_output=True, text=True, check=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return done.stdout

    def processes(self) -> dict[str, set[int]]:
        """Every process of this laptop, by what it is."""
        ours = psutil.Process().children(recursive=True)
        alive = {role: self.service.alive(role) for role in ("keeper", "serving")}
        return {
            "mcp": {one.pid for one in ours if "mcp" in words_of(one) and home_of(one) == str(self.home)},
            **{role: set() if found is None else {found.pid} for role, found in alive.items()},
            "postgres": set(servers(self.data)),
        }


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def home_of(process: psutil.Process) -> str:
    """The folder it works in: other tests' clients are open beside this one."""
    try:
        return process.cwd()
    except psutil.Error:
        return ""


def eventually[T](look: Callable[[], T], what: str, seconds: float = 2 * PATIENCE) -> T:
    ends = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < ends, what
        time.sleep(0.05)
    return found


@pytest.fixture
def laptop(ntfy: Ntfy) -> Generator[Laptop]:
    ntfy.published.clear()
    with tempfile.TemporaryDirectory(prefix="cronty-home-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o711)
        made = Laptop(Path(home), ntfy)
        yield made
        clear(made)


def clear(made: Laptop) -> None:
    made.service.make()
    made.service.remove_spec()
    service_keeper.end(made.service, "keeper")
    service_keeper.end(made.service, "serving")
    for pid in servers(made.data):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(made.processes().values()), f"left behind: {made.processes()}")


async def test_tomorrow_at_9_rings_at_9_in_new_york_with_everything_closed(laptop: Laptop) -> None:
    (laptop.home / "moved.py").write_text(CLOCK)
    (laptop.home / "ahead").write_text("0")
    assert laptop.processes() == {"mcp": set(), "keeper": set(), "serving": set(), "postgres": set()}

    async with laptop.client("--app", "moved:cronty") as client:
        made = await client.ask(
            "schedule_job", name="Call Mom", task="notify", trigger_type="words",
            trigger_config={"text": "tomorrow at 9"}, kwargs={"message": "Call Mom", "topic": "phone"},
        )  # fmt: skip
        assert "warning" not in made
        open_ = laptop.processes()
    tomorrow = datetime.now(NEW_YORK).date() + timedelta(days=1)
    planned = datetime.fromisoformat(made["next_run"])
    assert (made["timezone"], planned) == (
        "America/New_York", datetime(tomorrow.year, tomorrow.month, tomorrow.day, 9, tzinfo=NEW_YORK),
    )  # fmt: skip
    assert {name: len(pids) for name, pids in open_.items() if name != "postgres"} == {
        "mcp": 1, "keeper": 1, "serving": 1
    }  # fmt: skip

    eventually(lambda: not laptop.processes()["mcp"], "the client's process has not ended")
    closed = laptop.processes()
    assert {**closed, "mcp": open_["mcp"]} == open_, "the others live on, the same as before"

    (laptop.home / "ahead").write_text(str((planned - datetime.now(UTC)).total_seconds() - 2))
    [arrived] = eventually(lambda: laptop.ntfy.to("phone"), f"nothing arrived: {laptop.service.last_lines(40)}")
    assert arrived["message"] == "Call Mom"
    assert laptop.processes() == closed
    [run] = json.loads(laptop.say("runs", "1", "--json"))["runs"]
    assert run["scheduled_for"] == f"{tomorrow}T09:00:00{planned:%z}"[:-2] + ":00"
    assert datetime.fromisoformat(run["started_at"]) >= planned

    assert laptop.say("down").startswith("Cronty is down.")
    assert laptop.processes() == {"mcp": set(), "keeper": set(), "serving": set(), "postgres": set()}
    async with laptop.client() as client:
        answer = await client.ask("schedule", prompt="Look at it", at="tomorrow at 9")
        assert answer["warning"].startswith("Nothing fires after this client has closed: `cronty down` has stopped")
    assert not any(laptop.processes().values())


@pytest.mark.long
async def test_a_database_that_is_killed_comes_back_and_nothing_is_lost(laptop: Laptop) -> None:
    async with laptop.client() as client:
        made: dict[str, Any] = await client.ask(
            "schedule_notification", message="kept", notification_topic="phone", delay="15s"
        )
        assert made["success"]
    [*before] = laptop.processes()["postgres"]
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    after = eventually(lambda: laptop.processes()["postgres"] - set(before), "PostgreSQL is still dead")
    [arrived] = eventually(lambda: laptop.ntfy.to("phone"), f"nothing arrived: {laptop.service.last_lines(40)}")
    assert arrived["message"] == "kept"
    assert after <= laptop.processes()["postgres"]
    assert "CRONTY_DATABASE_URL" not in laptop.service.log.read_text()
    assert "The local PostgreSQL can't be reached, and is started again" in laptop.service.log.read_text()


async def test_without_the_service_the_answer_says_that_nothing_will_fire(laptop: Laptop) -> None:
    async with laptop.client("--no-service") as client:
        told = await client.say("schedule", prompt="Look at it", at="tomorrow at 9")
        assert "Warning: Nothing fires after this client has closed: it was started with --no-service." in told
        assert "`cronty up` starts the background service." in told
        assert "warning" not in await client.ask("schedule_list")
        assert not laptop.processes()["keeper"]
    eventually(lambda: not any(laptop.processes().values()), "something lives on")
