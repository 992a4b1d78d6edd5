"""A woken program that looks for everything of ours finds nothing: a real service, a real agent, started as it is."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest

from tests.agents.stage import IS_ROOT, USER, Stage
from tests.clients.serving import CRONTY, Served, environment, free_port
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
MARKER = "canary-"
JWT_SECRET = MARKER + "of-tokens-" + "x" * 40
SECRETS = {"jwt_secret": JWT_SECRET, "secret_key": MARKER + "A" * 36, "ntfy_token": MARKER + "ntfy"}

# A user's own mounts: root's folder stays closed to everybody else on the machine, and for this user it holds Python.
OPEN_THE_WAY = """
set -e
user=$1; blocked=$2; shift 2
if [ -n "$blocked" ]; then
  aside=$(mktemp -d)
  mount --bind "$blocked" "$aside"
  mount -t tmpfs -o mode=0755 none "$blocked"
  while [ "$1" != -- ]; do mkdir -p "$1"; mount --bind "$aside/${1#"$blocked"/}" "$1"; shift; done
fi
while [ "$1" != -- ]; do shift; done
shift
exec setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups "$@"
"""


def as_plain_user() -> list[str]:
    """What goes before a command to run it as somebody who isn't root; skips where that can't be done."""
    if not IS_ROOT:
        return []
    needed = {Path(sys.prefix), Path(sys.base_prefix), ROOT}
    blocked = {part for one in needed for part in one.resolve().parents if not part.stat().st_mode & 0o001}
    if len(blocked) > 1 or shutil.which("setpriv") is None or shutil.which("unshare") is None:
        pytest.skip("root can't run a service as somebody else here")
    behind = [str(one) for one in needed if any(one.resolve().is_relative_to(part) for part in blocked)]
    wrapped = ["sh", "-c", OPEN_THE_WAY, "sh", USER, *(map(str, blocked) or [""]), *behind, "--"]
    command = ["unshare", "--mount", *(wrapped if blocked else [*wrapped[:5], "", "--"])]
    tried = subprocess.run([*command, sys.executable, "-c", ""], capture_output=True, check=False, cwd="/")
    if tried.returncode:
        pytest.skip(f"root can't run a service as somebody else here: {tried.stderr.decode()[-200:]}")
    return command


@contextmanager
def serving(folder: Path, agents: str, before: list[str], port: int) -> Generator[Served]:
    """`cronty serve --auth` with a database of its own, and secrets in its environment."""
    (folder / "agents.toml").write_text(agents, encoding="utf-8")
    (folder / "agents.toml").chmod(0o600)
    if before:
        for path in (folder, folder / "agents.toml"):
            shutil.chown(path, USER)
    settings = {"agents_file": str(folder / "agents.toml"), "data_dir": str(folder / "data"), **SECRETS}
    surroundings = {**environment(**settings), "HOME": str(folder), "PYTHONPATH": str(ROOT / "src")}
    log = folder.parent / "serve.log"
    with open(log, "wb") as opened:
        process = subprocess.Popen(
            [*before, sys.executable, CRONTY, "serve", "--auth", "--port", str(port)],
            cwd="/", env=surroundings, stdin=subprocess.DEVNULL, stdout=opened, stderr=opened,
        )  # fmt: skip
    served = Served(process, port, log)
    try:
        served.wait_for("/ready", 200)
        yield served
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # somebody has stopped it by tracing it
            process.kill()
            process.wait()


def ask(served: Served, method: str, path: str, owner: str, body: dict[str, Any] | None = None) -> Any:
    now = datetime.now(UTC)
    claims = {"iss": "cronty", "sub": owner, "aud": f"{served.url}/mcp", "exp": now + timedelta(hours=1)}
    token = jwt.encode(claims | {"scope": "read schedule run prompts"}, JWT_SECRET.ljust(128, "\0"), "HS512")
    headers = {"authorization": f"Bearer {token}"}
    answer = httpx2.request(method, f"{served.url}/api/v1{path}", headers=headers, json=body, timeout=PATIENCE)
    assert answer.is_success, answer.text
    return answer.json()


def wake(served: Served, owner: str) -> dict[str, Any]:
    """The run of a prompt for the agent, once it is over."""
    job = {"name": "j", "task": "prompt", "trigger_type": "interval", "trigger_config": {"days": 3000}}
    made = ask(served, "POST", "/jobs", owner, {**job, "kwargs": {"prompt": "Look.", "agent": "helper"}})
    ask(served, "POST", f"/jobs/{made['job_id']}/run", owner)
    ends = time.monotonic() + PATIENCE
    while True:
        [run] = ask(served, "GET", f"/jobs/{made['job_id']}/runs", owner)["runs"]
        if run["verdict"] in ("done", "failed"):
            return run
        assert time.monotonic() < ends, served.log.read_text(errors="replace")
        time.sleep(0.05)


@pytest.fixture
def folder(stage: Stage) -> Path:
    """Where somebody who isn't root can work too; everybody may pass through, as with most people's homes."""
    made = stage.folder / "home"
    made.mkdir(mode=0o755)
    return made


LOOK = """
import logging, sys
from pathlib import Path
from cronty.actions.command import Surroundings, agent_tasks
from cronty.cli.doctor import agents_here
from cronty.settings import Settings

logging.basicConfig(format="%(message)s", stream=sys.stdout)
agent_tasks(Path(sys.argv[1]), None, Surroundings(None, {}, "local"))
print(agents_here(Settings(agents_file=Path(sys.argv[1]))))
"""


@pytest.mark.parametrize("most", ["0", "1000"])
def test_a_system_without_namespaces_is_named_at_the_start_and_by_the_doctor(folder: Path, most: str) -> None:
    agents = folder / "agents.toml"
    agents.write_text('[agents.helper]\ndeliver = "command"\ncommand = ["true"]\nworkdir = "/"\n', encoding="utf-8")
    agents.chmod(0o644)
    few = [sys.executable, str(ROOT / "tests/agents/few.py"), "user", "0", most]
    command = [*as_plain_user(), *few, sys.executable, "-c", LOOK, str(agents)]
    settings = {**environment(), "PYTHONPATH": str(ROOT / "src")}
    looked = subprocess.run(command, cwd="/", env=settings, capture_output=True, check=False, text=True)
    if "no namespaces here at all" in looked.stderr:
        pytest.skip(looked.stderr)
    assert looked.returncode == 0, looked.stderr
    *warned, found = looked.stdout.splitlines()
    assert len(warned) == (most == "0"), looked.stdout
    assert all("no namespace" in line and "allow user namespaces" in line for line in warned)
    assert found.startswith(f"[({most != '0'}, 'agents', ")


@pytest.mark.parametrize("service", ["root", "plain user"])
def test_a_hostile_program_finds_nothing_of_the_service(stage: Stage, folder: Path, service: str) -> None:
    if service == "root" and not IS_ROOT:
        pytest.skip("proves what root's service keeps from the user of an agent; needs root")
    before = as_plain_user() if service == "plain user" else []
    port = free_port()
    keys = {} if service == "root" or not IS_ROOT else {"user": USER}
    agent = stage.agent(MARKER[::-1], str(folder / "data"), str(port), program="hostile.py", owners=["ann"], **keys)
    with serving(folder, f"[agents.helper]\n{agent}", before, port) as served:
        run = wake(served, "ann")
        assert run["verdict"] == "done", (run, served.log.read_text(errors="replace")[-3000:])
        with pytest.raises(AssertionError, match="isn't available to 'bob'"):
            wake(served, "bob")
        log = served.log.read_text(errors="replace")
    found = run["result"]
    hidden = "no namespace" not in log
    assert (found["uid"] == 0) is False
    assert found["descriptors"] == []
    assert found["environment"] == []
    assert found["processes"] == []
    assert found["api"] == 401
    assert found["root"] is False
    if service == "root" or hidden:
        assert [one for one in found["files"] if not one.endswith(("users", "turn"))] == []
        assert found["database"] == []
    else:
        print("NOT PROVEN here: without user namespaces a program of the same user reads the data folder")
    assert os.environ.get("CRONTY_JWT_SECRET") is None
