"""Secrets of a process are in no place where another process of the same user finds them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cronty.settings import BadSetting, Settings
from tests.clients.serving import environment

LOOK = """
import ctypes, json, os
from cronty.actions.secrecy import hide_process, take_from_environment
from cronty.settings import SECRET_VARIABLES, Settings, remember

remember(take_from_environment(SECRET_VARIABLES))
block = open("/proc/self/environ", "rb").read().decode()
hide_process()
child = os.popen("env").read()
print(json.dumps({
    "block": "canary" in block, "intact": "CRONTY_ZONE=Europe/Berlin" in block and "PATH=" in block,
    "children": "canary" in child, "known": Settings().jwt_secret.get_secret_value(), "zone": Settings().zone,
    "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
}))
"""


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "CRONTY_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for asked in ("getuid", "geteuid"):
        monkeypatch.setattr(os, asked, lambda: 64321)
    with pytest.raises(BadSetting, match="This user has no home: set CRONTY_DATA_DIR"):
        Settings()  # pyright: ignore[reportCallIssue]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems show a process's environment to its user")
def test_secrets_are_taken_out_of_the_environment_and_of_what_the_system_shows_of_it() -> None:
    given = environment(jwt_secret="canary-of-tokens", zone="Europe/Berlin", secret_key="canary-key")
    done = subprocess.run([sys.executable, "-c", LOOK], env=given, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    assert seen == {
        "block": False,
        "intact": True,
        "children": False,
        "known": "canary-of-tokens",
        "zone": "Europe/Berlin",
        "dumpable": 0,
    }


PROGRAM = """
import os
from collections.abc import AsyncGenerator
from cronty import Cronty

cronty = Cronty(os.environ["CRONTY_DATABASE_URL"])

@cronty.lifespan
async def look() -> AsyncGenerator[None]:
    print("CRONTY_DATABASE_URL" in os.environ, cronty.settings.database_url, flush=True)
    raise ValueError("this is all")
    yield
"""


def test_a_program_may_read_the_environment_while_it_is_loaded_and_not_later(url: str, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(PROGRAM)
    given = {**environment(), "CRONTY_DATABASE_URL": url}
    command = [sys.executable, "-m", "cronty.cli.main", "work", "shop:cronty"]
    ran = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
    assert ran.stdout == f"False {url}\n", ran.stderr


def test_a_secret_may_be_in_a_file_that_nobody_else_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.write_text("of-tokens\n", encoding="utf-8")
    monkeypatch.setenv("CRONTY_JWT_SECRET_FILE", str(path))
    for mode in (0o644, 0o602, 0o620):
        path.chmod(mode)
        with pytest.raises(BadSetting, match=r"CRONTY_JWT_SECRET_FILE: .* may be (read|written) by .* chmod 600"):
            Settings()  # pyright: ignore[reportCallIssue]
    path.chmod(0o640)
    if os.geteuid() == 0:
        shutil.chown(path, "nobody")
        with pytest.raises(BadSetting, match=r"CRONTY_JWT_SECRET_FILE: .* belongs to nobody\."):
            Settings()  # pyright: ignore[reportCallIssue]
        shutil.chown(path, "root")
    settings = Settings()  # pyright: ignore[reportCallIssue]
    assert settings.jwt_secret is not None
    assert settings.jwt_secret.get_secret_value() == "of-tokens"
    assert path in settings.secret_places
    os.remove(path)
    with pytest.raises(BadSetting, match="can't be read"):
        Settings()  # pyright: ignore[reportCallIssue]
