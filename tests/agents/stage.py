"""A folder where programs of agents can work, whoever they run as: root starts them as another user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

IS_ROOT: Final = os.geteuid() == 0
USER: Final = "nobody"


@dataclass(frozen=True, slots=True)
class Stage:
    """`folder` may be read and written by everybody on this machine."""

    folder: Path
    python: str

    def agent(self, *manner: str, program: str = "agent.py", **keys: object) -> str:
        """The lines of an agent in the operator's file."""
        given: dict[str, object] = {
            "deliver": "command",
            "command": [self.python, str(self.folder / program), *manner],
            "workdir": str(self.folder),
            **({"user": USER} if IS_ROOT else {}),
            **keys,
        }
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())


@contextmanager
def staged() -> Generator[Stage]:
    python = python_for_agents()
    if python is None:
        pytest.skip(f"root's agents run as {USER}, who finds no Python here")
    with tempfile.TemporaryDirectory(prefix="cronty-stage-") as name:
        folder = Path(name)
        for program in Path(__file__).parent.glob("*.py"):
            shutil.copy(program, folder)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o1777 if path == folder else 0o755)
        yield Stage(folder, python)


@cache
def python_for_agents() -> str | None:
    """A Python that the user of agents can start; ours may stand in root's own folder."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        user = {"user": USER, "group": "nogroup" if _has_group("nogroup") else USER} if IS_ROOT else {}
        try:
            done = subprocess.run([candidate, "-c", ""], capture_output=True, check=False, cwd="/", **user)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        except OSError:
            continue
        if done.returncode == 0:  # pyright: ignore[reportUnknownMemberType]
            return candidate
    return None


def _has_group(name: str) -> bool:
    return any(line.startswith(f"{name}:") for line in Path("/etc/group").read_text(encoding="utf-8").splitlines())
