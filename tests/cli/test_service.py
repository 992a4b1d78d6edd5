"""A service that stays up: real processes, killed and closed, and reminders that arrive nevertheless."""

import asyncio
import json
import os
import plistlib
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from cronty.cli import service_keeper, service_units
from cronty.cli.ready import is_ready
from cronty.cli.service_folder import MAX_LOGGED, Alive, Kept, Role, ServiceFolder, ServiceSpec
from tests.clients.serving import CRONTY, environment, free_port
from tests.clients.test_local import servers
from tests.clients.test_stdio import Child, speaking
from tests.patience import PATIENCE
from tests.stories.ntfy import Ntfy

NOWHERE = "postgresql://localhost:1/nowhere"


def wait_until[T](look: Callable[[], T], what: str = "", seconds: float = PATIENCE) -> T:
    ends = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < ends, what
        time.sleep(0.02)
    return found


@dataclass
class Machine:
    """A person's machine: a folder, a port, and the commands."""

    folder: Path
    settings: dict[str, str]
    port: int = field(default_factory=free_port)

    @property
    def place(self) -> ServiceFolder:
        return ServiceFolder(self.folder)

    def say(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [CRONTY, *words], env=environment(**self.settings), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    def up(self, *options: str, code: int = 0) -> str:
        return self.say("up", "--background", "--port", str(self.port), *options, code=code)

    def status(self, code: int = 0) -> dict[str, Any]:
        return json.loads(self.say("status", "--json", code=code))

    def alive(self, role: Role = "serving") -> Alive:
        found = self.place.alive(role)
        assert found is not None
        return found

    def kill(self, role: Role = "serving") -> int:
        """As the kernel does when memory is short."""
        found = self.alive(role)
        os.kill(found.pid, signal.SIGKILL)
        wait_until(lambda: (now := self.place.alive(role)) is None or now.pid != found.pid)
        return found.pid


@pytest.fixture
def ntfy() -> Generator[Ntfy]:
    made = Ntfy()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def machine(tmp_path: Path, ntfy: Ntfy) -> Generator[Machine]:
    """With a PostgreSQL of its own."""
    folder = tmp_path / "data"
    settings = {"data_dir": str(folder), "ntfy_url": f"http://{ntfy.host}", "allowed_hosts": ntfy.host, "drain": "2"}
    made = Machine(folder, settings)
    yield made
    made.place.make()
    made.place.remove_spec()
    service_keeper.end(made.place, "keeper")
    service_keeper.end(made.place, "serving")
    for pid in servers(folder):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def joined(machine: Machine, url: str) -> Machine:
    """With a PostgreSQL that is there already."""
    machine.settings["database_url"] = url
    return machine


def hang_up(client: Child) -> None:
    client.process.communicate(timeout=PATIENCE)
    assert client.process.returncode == 0


def remind(machine: Machine, ntfy: Ntfy, text: str) -> None:
    """Ask for a reminder, close everything, and wait until it has arrived."""
    machine.say("add", "in 1 second", text, "--notify", "ntfy:phone")
    wait_until(lambda: any(one["message"] == text for one in ntfy.to("phone")), text)


@pytest.mark.long
def test_nothing_in_the_folder_where_it_was_started_is_taken_for_a_module(
    joined: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "typer.py").write_text("open('was-run', 'w')\nraise SystemExit(3)\n")
    monkeypatch.chdir(shared)
    joined.up()
    assert joined.place.working_folder(joined.place.spec() or pytest.fail("it has no spec")) == shared
    assert [one.name for one in shared.iterdir()] == ["typer.py"]


@pytest.mark.long
def test_reminders_arrive_with_every_client_closed_and_after_the_server_was_killed(
    machine: Machine, ntfy: Ntfy
) -> None:
    said = machine.up()
    assert said.startswith(f"Cronty is up at http://127.0.0.1:{machine.port}; MCP at ")
    assert "Making its database, this once …" in said
    remind(machine, ntfy, "with every client closed")
    first = machine.alive()
    assert "was up already" in machine.up()
    assert machine.alive() == first
    machine.kill()
    remind(machine, ntfy, "after a kill")
    assert machine.alive().pid != first.pid
    found = machine.status()
    assert (found["up"], found["state"], found["kept_by"], found["starts"]) == (True, "up", "background", 2)
    assert "the server ended by signal 9; starting it again in 0.5 s" in machine.place.log.read_text()
    assert len(ntfy.to("phone")) == 2
    assert machine.say("down").startswith("Cronty is down.")
    assert servers(machine.folder) == []
    assert (machine.place.alive("keeper"), machine.place.alive("serving"), machine.place.spec()) == (None, None, None)
    assert machine.status(code=1) == {"up": False, "state": "down", "log": str(machine.place.log)}
    assert machine.say("down") == "Cronty wasn't up.\n"


@pytest.mark.long
def test_clients_and_the_service_share_one_database_and_leave_it_to_each_other(machine: Machine, ntfy: Ntfy) -> None:
    machine.up()
    with speaking(folder=machine.folder, **machine.settings) as client:
        client.greet()
        made = client.call("schedule_notification", message="from a client", notification_topic="phone", delay="1s")
        assert made["success"]
        wait_until(lambda: ntfy.to("phone"))
        hang_up(client)
    assert len(servers(machine.folder)) == 1
    assert machine.status()["up"]
    with speaking(folder=machine.folder, **machine.settings) as client:
        client.greet()
        assert client.call("list_jobs")["total"] == 1
        machine.say("down")
        assert len(servers(machine.folder)) == 1
        assert client.call("list_jobs")["total"] == 1
        hang_up(client)
    assert servers(machine.folder) == []


@pytest.mark.long
def test_a_keeper_that_was_killed_is_told_of_and_mended(joined: Machine) -> None:
    joined.up()
    server = joined.alive().pid
    joined.kill("keeper")
    found = joined.status()
    assert (found["up"], found["state"], found["pid"]) == (True, "unwatched", server)
    assert "`cronty up` fixes that" in joined.say("status")
    joined.up()
    assert joined.status()["state"] == "up"
    assert joined.alive().pid != server


@pytest.mark.long
def test_a_server_that_does_not_answer_is_not_called_up(joined: Machine) -> None:
    joined.up()
    server = joined.alive().pid
    joined.kill("keeper")
    os.kill(server, signal.SIGSTOP)
    try:
        found = joined.status(code=1)
    finally:
        os.kill(server, signal.SIGCONT)
    assert (found["up"], found["state"]) == (False, "stuck")


@pytest.mark.long
def test_a_service_that_is_gone_comes_back_with_the_next_client(joined: Machine) -> None:
    joined.up()
    joined.kill("keeper")
    joined.kill()
    assert joined.status(code=1)["state"] == "gone"
    with speaking(folder=joined.folder, **joined.settings) as client:
        client.greet()
        wait_until(lambda: is_ready(f"http://127.0.0.1:{joined.port}", joined.folder))
    assert joined.status()["state"] == "up"


@pytest.mark.long
def test_what_became_of_slots_while_it_was_away_is_in_the_log_and_in_the_status(joined: Machine, url: str) -> None:
    for text, catch_up in (("water the plants", "latest"), ("feed the cat", "none")):
        joined.say("add", "in 1 hour", text, "--notify", "ntfy:phone", "--policy", f"catch_up={catch_up}")

    async def let_them_pass() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(
            "update cronty.due d set next_at = next_at - j.number * interval '20 hours'"
            " from cronty.jobs j where j.id = d.job_id"
        )
        await connection.close()

    asyncio.run(let_them_pass())
    joined.up()
    line = re.compile(r"while it was away, .* to .*: 1 fired late, 1 missed")
    wait_until(lambda: line.search(joined.place.log.read_text()), "no line in the log")
    assert line.search(joined.status()["away"][0]["in_words"])
    assert line.search(" ".join(joined.say("status").split()))


@pytest.mark.long
def test_numbers_that_other_processes_got_since_are_not_taken_for_the_service(joined: Machine) -> None:
    joined.place.make()
    for role in ("keeper", "serving"):
        left = {"pid": os.getpid(), "since": 1794721607, "starts": 1}  # ours: whoever believes it, ends this test
        (joined.place.path / f"{role}.pid").write_text(json.dumps(left))
    assert joined.status(code=1)["state"] == "down"
    assert joined.say("down") == "Cronty wasn't up.\n"
    joined.up()
    assert joined.alive().pid != os.getpid()


@pytest.mark.long
def test_up_with_other_settings_starts_it_anew_and_tokens_are_for_where_it_is(joined: Machine) -> None:
    joined.settings["jwt_secret"] = "s" * 32
    joined.up()
    server = joined.alive().pid
    joined.port = free_port()
    assert f"is up at http://127.0.0.1:{joined.port}" in joined.up("--auth")
    assert joined.alive().pid != server
    assert joined.status()["url"].endswith(str(joined.port))
    issued = json.loads(joined.say("token", "issue", "--email", "ann@example.com", "--expires-in", "1h", "--json"))
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accepts = {"accept": "application/json, text/event-stream"}
    there = f"http://127.0.0.1:{joined.port}/mcp"
    assert httpx2.post(there, json=listing, headers=accepts).status_code == 401
    shown = accepts | {"authorization": f"Bearer {issued['token']}"}
    assert httpx2.post(there, json=listing, headers=shown).status_code == 200


@pytest.mark.long
def test_why_it_does_not_come_up_is_said_with_the_end_of_the_log_and_nothing_is_left(machine: Machine) -> None:
    machine.settings["database_url"] = NOWHERE
    said = machine.up(code=1)
    assert "It isn't up: it exits right after its start." in said
    assert "PostgreSQL can't be reached" in said
    assert str(machine.place.log) in said.replace("\n", "")
    assert (machine.place.alive("keeper"), machine.place.spec()) == (None, None)


def test_a_port_that_is_taken_is_said_at_once(machine: Machine, ntfy: Ntfy) -> None:
    machine.port = ntfy.port
    assert "is taken by another program. Name another one: cronty up --port" in machine.up(code=1)
    assert machine.place.spec() is None


@contextmanager
def squatting(port: int) -> Generator[None]:
    """Another user's program that has the port, and says to everybody that it is ready."""

    class Ready(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Cronty-Proof", "0" * 64)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", port), Ready)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def test_whoever_takes_its_port_stops_nothing_and_is_not_taken_for_it(joined: Machine, ntfy: Ntfy) -> None:
    joined.up()
    os.kill(joined.alive("keeper").pid, signal.SIGSTOP)  # so that it starts no other server before the port is taken
    try:
        joined.kill()
        with squatting(joined.port):
            os.kill(joined.alive("keeper").pid, signal.SIGCONT)
            wait_until(joined.place.is_portless, "it doesn't say that its port is taken")
            server = joined.alive().pid
            assert not is_ready(f"http://127.0.0.1:{joined.port}", joined.folder)
            found = joined.status(code=1)
            assert (found["up"], found["state"], found["pid"]) == (False, "portless", server)
            words = f"fires, but its page can't be opened: port {joined.port} is taken by another program"
            assert words in joined.say("status", code=1)
            said = joined.up(code=1)
            assert words in said
            assert "Authorization" not in said
            remind(joined, ntfy, "without its port")
            assert f"port {joined.port} is taken by another program" in joined.place.log.read_text()
    finally:
        os.kill(joined.alive("keeper").pid, signal.SIGCONT)
    wait_until(lambda: is_ready(f"http://127.0.0.1:{joined.port}", joined.folder), "it doesn't take its port again")
    assert joined.alive().pid == server
    assert joined.status()["state"] == "up"


@pytest.mark.long
def test_a_service_for_others_proves_itself_too(joined: Machine) -> None:
    joined.settings["jwt_secret"] = "s" * 32
    joined.up("--auth")
    assert is_ready(f"http://127.0.0.1:{joined.port}", joined.folder)


def test_a_folder_that_cannot_be_made_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    elsewhere = Machine(tmp_path / "file/data", {"data_dir": str(tmp_path / "file/data")})
    assert "Set CRONTY_DATA_DIR to another one." in elsewhere.up(code=2)
    assert elsewhere.status(code=1)["state"] == "down"


def test_what_was_asked_for_is_nobody_elses_to_read(joined: Machine) -> None:
    joined.place.make()
    joined.place.save_spec(ServiceSpec([], "http://127.0.0.1:1", "background", "/", {"CRONTY_JWT_SECRET": "x"}))
    assert joined.place.path.stat().st_mode & 0o077 == 0
    assert (joined.place.path / "spec.json").stat().st_mode & 0o077 == 0


def test_the_log_is_bounded(tmp_path: Path) -> None:
    place = ServiceFolder(tmp_path)
    place.make()
    log = place.open_log()
    os.write(log, b"x" * (MAX_LOGGED + 1))
    place.bound_log()
    os.write(log, b"later\n")
    os.close(log)
    assert place.last_lines() == ["later"]
    assert place.log.stat().st_size == 6
    assert (place.path / "service.log.1").stat().st_size == MAX_LOGGED + 1


def test_the_systemd_unit_is_one_that_systemd_accepts(tmp_path: Path) -> None:
    place = ServiceFolder(tmp_path / "my 100% data")
    unit = service_units.systemd_unit(service_keeper.command(place))
    assert "Restart=always" in unit
    assert "KillMode=process" in unit
    assert "my 100%% data" in unit
    checker = shutil.which("systemd-analyze")
    if checker is None:
        pytest.skip("there is no systemd-analyze here")
    (tmp_path / "cronty.service").write_text(unit)
    done = subprocess.run(
        [checker, "--user", "verify", str(tmp_path / "cronty.service")], capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    assert "cronty.service" not in done.stderr, done.stderr


@pytest.mark.parametrize("kept", ["systemd", "launchd"])
def test_a_unit_is_for_nobody_else_to_write_whatever_the_umask(
    tmp_path: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    place = ServiceFolder(tmp_path / "data")
    before = os.umask(0)
    try:
        path = service_units.write_unit(kept, ["cronty"], place)
        assert service_units.write_unit(kept, ["cronty"], place) == path  # a second time too
    finally:
        os.umask(before)
    assert b"cronty" in path.read_bytes()
    assert [one for one in (path, *path.parents) if one.is_relative_to(tmp_path) and one.stat().st_mode & 0o022] == []
    path.parent.chmod(0o777)
    with pytest.raises(service_units.UnitRefused, match=f"chmod go-w {path.parent}"):
        service_units.write_unit(kept, ["cronty"], place)


def test_the_launchd_agent_starts_with_the_login_and_again_after_an_end(tmp_path: Path) -> None:
    place = ServiceFolder(tmp_path)
    agent = plistlib.loads(service_units.launchd_agent(service_keeper.command(place), place))
    assert agent["ProgramArguments"] == service_keeper.command(place)
    assert (agent["RunAtLoad"], agent["KeepAlive"], agent["AbandonProcessGroup"]) == (True, True, True)
    assert agent["Label"] == service_units.name_of(place)
